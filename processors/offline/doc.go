// Package offline works on the state of a processor beside the runtime: savepoints of a running
// process, and operations on an application that is stopped.
//
//	Savepoint      a named copy of a process's store, taken while the process runs
//	Replay         folds the inputs again under another application id, compares the result with the
//	               live state, and promotes the difference
//	Repartition    moves the state to topics with another number of partitions
//
// Invariants:
//
//  1. Promotion and Repartition write to a changelog only as the exclusive member of the
//     application's group. No process can run the application at that time. While one runs, they
//     return ErrInUse.
//  2. Each partition is written in one transaction, with the marker and the group's offsets. An
//     operation that was interrupted has done some partitions in full and the others not at all.
//     Calling it again does the rest.
//  3. A Replay writes to no topic, group or directory of the live processor before Promote.
//  4. Compare and Promote compare states that are functions of the same inputs: both are at the
//     same offsets and settled (stream.Processor.Settled).
//
// It changes no input topic, and deletes no state but that of a Replay.
package offline
