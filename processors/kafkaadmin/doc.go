// Package kafkaadmin is what an operator does to Kafka for weir: topics, lag, dead letters, and a check of everything that
// the promises rest on. The commands `weir topics`, `weir lag`, `weir dlq` and `weir doctor` print its answers.
//
//	events.Catalog ─▶ Plan ─▶ []Step ─▶ Apply          create and alter; a conflict is explained, never forced
//	group, inputs  ─▶ Lag  ─▶ []PartitionLag           how far, how much is left, who has it
//	<app>.dlq      ─▶ List ─▶ []Letter ─▶ Replay        record to its old place + tombstone: one transaction
//	                                  └─▶ Drop          tombstone with who and why
//	brokers, disk  ─▶ Doctor ─▶ []Check                what is right, what is not, what to do
//
// Invariants:
//
//  1. A letter is replayed at most once, and resolved if and only if it was replayed or dropped: both records are one
//     transaction. All replays and drops of an application share one transactional id. Asking for it ends the
//     transaction that an earlier life left open and fences everyone else who has it; only then is the queue read once
//     more, up to its high watermark, and what is resolved by then is left out. So of two operators one is told that
//     the other took over, and after a crash a second try does what the first did not.
//  2. Reading a queue is exact: it ends at offsets, not at silence. Gaps that compaction left are passed.
//  3. Nothing is deleted, and no partition count is changed.
//
// What it does not do: it resets no offsets, moves no replicas, and writes no ACLs (Doctor prints those that are needed).
package kafkaadmin
