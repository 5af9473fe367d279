// Package devbroker is the Kafka broker of `weir dev` and of tests: franz-go's kfake in this
// process, with additions that keep its guarantees when the process is killed and keep it small
// when it runs for a long time. It listens on the loopback interface only.
//
//	Start ─▶ lock DataDir ─▶ repair ─▶ kfake ─▶ topics ─▶ journal, janitor ─▶ serving
//	          ErrInUse        │                            │        │
//	                          │                            │        └ each minute: trim; compact while no transaction is open
//	                          │                            └ before each commit: the writes of the commit
//	                          └ after a kill: incomplete batches, an incomplete commit, an incomplete compaction
//
// Files in DataDir: kafka/ belongs to kfake. LOCK is the lock. commit.journal exists while a broker
// runs, guard/ while a compaction runs.
//
// Invariants, each with a test. The tests of DEV-1 to DEV-3 kill the broker or truncate its files:
//
//   - DEV-1: A transaction is committed in all partitions and for its group, or nowhere. kfake ends
//     a transaction by many writes. The journal records the commit before the first of them, and
//     repair completes a commit that a kill interrupted.
//   - DEV-2: A record is read as committed if and only if it was committed. kfake treats a batch
//     without an index entry as non-transactional: repair drops it. kfake aborts transactions that
//     were open at a kill, but writes no markers, so clients would drop what the same producer
//     commits later: repair writes the markers and fences the producer.
//   - DEV-3: Compaction loses no key. kfake drops a record in favour of a newer one whose
//     transaction is still open, and removes the old files before it writes the new ones: the
//     janitor compacts at a moment without open transactions and keeps hard links to the old files.
//   - DEV-4: The offsets of a partition never restart at 0. kfake forgets the end of a partition
//     whose last batch expired: repair appends a batch without records in time.
//   - DEV-5: Records that a group has not read are not trimmed by size.
//   - DEV-6: No bytes that arrive at the port stop the process or take more memory than a small
//     multiple of their number: kfake gets complete requests with known API keys only (see guard).
//
// A kill of the process loses nothing that was acknowledged. A crash of the machine can lose the
// last writes, because nothing is synced before the next start or Close: the broker is for
// development.
//
// It has one broker, no security and no replication. Transaction markers stay in compacted topics
// as long as any record of their producer does, so under constant load the broker still grows by
// these markers, see BenchmarkGrowth.
package devbroker
