// Package roles joins cores and runtime: one file a role, each saying which topics a core reads, which it writes, and
// which of its settings come from where. It is the only place that knows both sides.
//
//	config ──▶ roles ──▶ processors.Processor{Inputs, Changelog, Outputs, New: core.New}
//
// It starts nothing and holds no state.
package roles
