// Package invariant checks recorded histories of a processor: its inputs, its outputs and its
// state.
//
//	run under faults ──▶ History ──▶ checker ──▶ nil, or the records that violate an invariant
//
// The checkers are pure functions, so that a history can be checked again without another run.
// Mutation tests inject a bug into a good history and require that a checker reports it.
//
//	ExactlyOnce RUN-1   Fold RUN-2   Sum RUN-3   ChangelogState RUN-4   StoreNotAhead RUN-5
//	OutputCause RUN-6   Transactions RUN-7
//
// docs/invariants.md has the statements.
//
// The package reads no clock and no network, and does not use Kafka.
package invariant
