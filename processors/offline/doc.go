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
//   - RUN-36: Promotion and Repartition write to a changelog only as the exclusive member of the
//     application's group. No process can run the application at that time. While one runs, they
//     return ErrInUse.
//   - RUN-37: Each partition is written in one transaction, with the marker and the group's
//     offsets. An operation that was interrupted has done some partitions in full and the others
//     not at all. Calling it again does the rest. Until a Repartition is complete, its target does
//     not start.
//   - RUN-38: A Replay writes to no topic, group or directory of the live processor before Promote.
//   - RUN-39: Compare and Promote compare states that are functions of the same inputs: both are at
//     the same offsets and settled (stream.Processor.Settled).
//
// Package offline changes no input topic, and deletes no state but that of a Replay.
//
// # The statement that a move is complete
//
// A target that begins with a part of its state begins other totals at zero, and soon has records
// that no move can keep. So a Repartition states in the marker of every partition whether the state
// is complete:
//
//  1. one transaction: all markers, incomplete       from here on the target does not start
//  2. a transaction for each partition: its keys, its marker, incomplete
//  3. a last check: the source has read its inputs to the end
//  4. one transaction: all markers of the source     from here on the source does not start
//  5. one transaction: all markers, complete         from here on the target starts
//
// The statement is in the marker because a task begins from its marker, whatever else it has read.
// The takeover of a partition checks it there, so it needs no further request. No time passes
// between the check and the use, in which another Repartition could begin. Other places are weaker:
//
//   - The offsets of the group expire while the group is empty, and the state does not. Offsets are
//     in each transaction in any case, because the brokers check the membership of the exclusive
//     member only where they take offsets.
//   - A marker in every partition shows that all are written. It does not show the last check, nor
//     that a second move has replaced some of them.
//   - The end offset of the changelog shows barriers, too.
//
// A source that runs again by mistake counts what the target lacks. So at no time both can start,
// wherever a crash happens: step 4 comes before step 5, and UndoRepartition takes step 5 back
// before step 4. Brokers can commit a transaction in part. So the first of the two steps is read
// back, and repeated for the partitions that lack it, before the second.
//
// A partition that has no marker begins with an empty state. It may do so only if no former
// changelog has records (processors.Config.FormerChangelogs). The same rules hold for the source.
package offline
