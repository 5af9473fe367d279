// Package obs makes the two things that every role reports with: a logger and a metric registry.
//
//	cmd/weir ──NewLogger───▶ zerolog.Logger ──▶ stderr: JSON lines, or text on a terminal
//	         ──NewRegistry─▶ *Registry ───────▶ /metrics
//
// Invariants:
//
//  1. No global state: nothing here reads or sets a package-level variable of zerolog or Prometheus, so two sets can
//     live in one process (and in one test binary).
//  2. A log message is one event name, such as api.request; everything else about the event is a field.
//  3. A metric is registered only if its name begins with weir_, it has a help text and its labels are of a closed
//     list (AllowedLabel). A campaign, an account or a record key is never a label: the number of series is bounded
//     by the code, not by the data.
//
// It does not do tracing, sampling or log rotation, and it does not serve /metrics: package api does.
package obs
