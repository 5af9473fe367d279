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
//     offsets. An interrupted operation has written some partitions in full and the others not at
//     all. Calling it again writes the rest. Until a Repartition is complete, its target does not
//     start.
//   - RUN-38: A Replay writes to no topic, group or directory of the live processor before Promote.
//   - RUN-39: Compare and Promote compare states that are functions of the same inputs: both are at
//     the same offsets and settled (stream.Processor.Settled).
//
// Package offline changes no input topic, and deletes no state but that of a Replay.
//
// # The statement that a move is complete
//
// A target that started with a part of its state would count the missing totals from zero, and the
// move could not be completed without losing what it counted. So a Repartition states in the marker
// of every partition whether the state is complete:
//
//  1. one transaction: all markers, incomplete       from here on the target does not start
//  2. a transaction for each partition: its keys, its marker, incomplete
//  3. a last check: the source has read its inputs to the end
//  4. one transaction: all markers of the source     from here on the source does not start
//  5. one transaction: all markers, complete         from here on the target starts
//
// The statement is in the marker because a task always begins from its marker. So the takeover of a
// partition checks the statement without a further request, and no other Repartition can begin
// between the check and the use. Other places are weaker:
//
//   - The offsets of the group expire while the group is empty; the state does not expire. (Each
//     transaction contains offsets, but for another reason: brokers check the membership of the
//     exclusive member only in offset commits.)
//   - The presence of a marker in every partition shows that all were written. It shows neither
//     that the last check succeeded, nor that a second move has begun to overwrite them.
//   - The end offset of the changelog shows barriers, too.
//
// If the source ran beside the target, it would count records that the target lacks. So at no time
// can both start, wherever a crash happens. Repartition stops the source (step 4) before it allows
// the target to start (step 5). UndoRepartition first stops the target, and then allows the source
// to start. Brokers can commit a transaction in part. So both operations read the markers of the
// first of these two transactions back, and write those that are missing again, before the second
// transaction.
//
// A partition without a marker begins with an empty state, but only if no former changelog has
// records (processors.Config.FormerChangelogs). The same rules hold for the source.
package offline
