// Package roles joins cores and runtime: one file a role, each saying which topics a core reads, which it writes, and
// which of its settings come from where. It is the only place that knows both sides.
//
//	config ──▶ roles ──▶ processors.Processor{Inputs, Changelog, Outputs, New: core.New}
//	           Liberator, Dedup ▶ processors.Processor                  the lease loop's
//	           RekeyFrom ▶ processors.Rekey ─▶ spendcounter.Move    another number of partitions
//	api ─────▶ Figures ──▶ api.Router ─▶ State ─▶ processors.Runtime   what is asked of a store, here or elsewhere
//	                            └──────▶ Peers ─▶ the brokers          who has it
//	           View ─────▶ processors.Runtime                          how the tasks stand
//
// It starts nothing and holds no state.
package roles
