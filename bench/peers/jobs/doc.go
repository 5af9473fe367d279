// Command jobs compares weir's job queues with River, a job queue on PostgreSQL: life cycles per
// second, the time from submit to start, and memory.
//
//	weir bench jobs -o json ─▶┐
//	                          ├─▶ rounds ─▶ medians ─▶ table
//	bench/peers/river ───────▶┘
//
// README.md of bench/peers explains what is compared, and what is unequal. If PostgreSQL does not
// answer, or River's module cannot be fetched, River is listed as not measured.
package main
