// Package obs creates the logger and the metric registry of a process.
//
//	cmd/weir ──NewLogger───▶ zerolog.Logger ──▶ stderr: JSON lines, or text on a terminal
//	         ──NewRegistry─▶ *Registry ───────▶ /metrics
//
// Invariants:
//
//  1. The package has no global state. It neither reads nor sets package-level variables of zerolog
//     or Prometheus, so that one process or test binary can have several loggers and registries.
//  2. A log message is an event name such as api.request. All details of the event are fields.
//  3. A metric is registered only if its name begins with weir_, it has a help text and its labels
//     are in a closed list (AllowedLabel). A campaign, an account or a record key is never a label:
//     the code bounds the number of series, not the data.
//
// The package does no tracing, sampling or log rotation. It does not serve /metrics: package api
// does.
package obs
