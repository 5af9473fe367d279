// Package override has overrides of operators in pacing that hold for a time.
//
//	weir pacing override ─▶ pacing.overrides ─▶ each process with the role pacing ─▶ pins of its group
//
// There is one kind: a process leads a shard, which is to own the partition of the shard. The topic
// is compacted. A record has the key "leader/" and the shard, is in the partition of the shard, and
// replaces the record before of the same key. One that ends when it begins withdraws the record
// before.
//
// # Invariants
//
//   - PACE-27: An override ends at its time without a further record, MaxFor after it was given at
//     the latest.
//   - PACE-28: Of two overrides of a shard the one that is later in the topic holds, also after
//     compaction and in processes that start later.
//
// # What it does not do
//
// It reads and writes no topic, and does not know whether a process runs: package processors
// ignores pins to processes that are away.
package override
