// Package devbroker is the Kafka broker of `weir dev`: franz-go's kfake in this process, made to keep its promises when the
// process is killed and to stay small when it runs for long. It listens on the loopback interface only.
//
//	Start ─▶ lock DataDir ─▶ mend ─▶ kfake ─▶ topics ─▶ journal, tender ─▶ serving
//	          ErrInUse        │                          │        │
//	                          │                          │        └ each minute: trim, compact when nothing is open
//	                          │                          └ before each commit: what it will write
//	                          └ after a kill: half-written batches, half-done commit, half-done compaction
//
// On disk below DataDir: kafka/ is kfake's own; LOCK; commit.journal, there while a broker runs; guard/, there while a
// compaction runs.
//
// Invariants, each with a test that kills or cuts:
//
//  1. A transaction is committed in all partitions and for its group, or nowhere. kfake ends one by many writes: the
//     journal has the commit before the first of them, and mend does the rest of a commit that was cut off.
//  2. A record that was never committed is never read as if it were, nor the other way round. kfake takes a batch without
//     an index entry for a plain one: mend drops it. kfake aborts what was open at a kill without writing markers, so that
//     clients drop what the same producer commits later: mend writes them, and fences the producer.
//  3. Compaction loses no key. kfake drops a record in favour of a newer one whose transaction is still open, and removes
//     the old files before it writes the new: the tender waits for a moment without open transactions, and keeps links to
//     the old files.
//  4. A partition never begins at offset 0 again. kfake forgets the end of one whose last batch expired: mend gives it a
//     batch without records in time.
//  5. What a group has not read is not trimmed by size.
//
// What survives what: a kill of the process loses nothing that was acknowledged. A crash of the machine can lose the last
// writes, because nothing is synced before the next start or Close: it is a broker for development.
//
// What it does not do: several brokers, security, replication. Transaction markers stay in compacted topics for as long
// as any record of their producer does (kfake keeps them), which is what a broker under constant load still grows by:
// see BenchmarkGrowth.
package devbroker
