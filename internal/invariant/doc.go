// Package invariant judges saved histories: what went into a processor, what came out, what it kept.
//
//	run under faults ──▶ History ──▶ Judge ──▶ nil, or which record broke which promise
//
// The judges are pure functions, so that a history can be judged again without running anything, and so that tests can
// spoil a history on purpose: each judge has mutations that it must catch.
//
//	I1 Once    every input is an output's cause once, or a dead letter once, never both
//	I2 Fold    state = fold of the inputs that are no dead letters, by a recount of the caller's
//	I3 Sum     sum over keys = sum over inputs
//	I4 Replay  state = replay of the changelog up to the stored offset
//	I5 Behind  the stored input offset is never ahead of the committed one
//	I6 Cause   every output has an input; transactions of a task are numbered without gap and never read backwards
//
// It reads no clock and no network; it does not know Kafka.
package invariant
