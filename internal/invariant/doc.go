// Package invariant checks recorded histories of a processor: its inputs, its outputs and its
// state.
//
//	run under faults ──▶ History ──▶ checker ──▶ nil, or the records that violate an invariant
//
// The checkers are pure functions, so that a history can be checked again without another run.
// Mutation tests inject a bug into a good history and require that a checker reports it.
//
//	I1 ExactlyOnce     every input is either the cause of one output or one dead letter
//	I2 Fold            state = fold of the inputs without dead letters, by the caller's recount
//	I3 Sum             sum over keys = sum over inputs without dead letters
//	I4 ChangelogState  state = replay of the changelog up to the stored offset
//	I5 StoreNotAhead   the stored input offset is never greater than the committed one
//	I6 OutputCause     every output has an input; the sequences of a task's transactions have
//	                   no gap, and its positions never go back
//
// The package reads no clock and no network, and does not use Kafka.
package invariant
