// Package watermark computes the event time of one task from the times of the records of its
// inputs. The runtime and package streamtest use the same code, so that timers fire between the
// same records in both.
//
//	newest time of each input ──▶ minimum over the inputs that are not idle ──▶ minus Lateness, in whole grains
//
// It is only for the runtime and streamtest: processors do not need it, and it can change with any
// version.
//
// A watermark never goes back. The package reads no clock, and does not drop late records.
package watermark
