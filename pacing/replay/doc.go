// Package replay steps the controllers of accounts again, from the recorded ticks of
// pacing.signals.
//
//	pack.Step ─▶ AccountTick ─▶ pacing.signals ─▶ Account.Tick ─▶ nodes: signals, state, parameters
//	                                                   │
//	                                                   └─ another rule, by the same signals
//
// A tick has what the controllers saw: time, plan, and of each node the budget, the spend and what
// limits it. Not recorded is what they decided, since control.Pacer is pure: the same state and the
// same observation give the same result. A whole tick has all nodes with their states, and the
// ticks that follow have what has changed. So a replay begins with any whole tick: there is one
// each pack.WholeAfter, with each new owner, and with each change of the budgets.
//
// Ticks are written with the next transaction of the owner, so that they cost none. The ticks that
// a crash loses had no effect: the next owner continues from the packs of the last transaction.
//
// # Another rule
//
// Config.Controller is a rule whose decisions are computed beside the recorded ones. It sees the
// recorded signals, which do not follow its decisions: it shows what it would have done in each
// tick, and not what it would have spent. Package market simulates that.
//
// # Invariants
//
//   - PACE-32: A replay of the ticks of an owner has the state of each whole tick: bit by bit on a
//     processor of the same kind, and within Tolerance on others, which round in other places.
//     States that no step has returned, such as at an override, are marked: NodeTick.replaced.
//
// # What it does not do
//
// It reads no topic. It checks numbers and the order of ticks, and not whether the spend was right.
package replay
