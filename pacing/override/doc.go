// Package override has overrides of operators in pacing that hold for a time.
//
//	weir pacing override ─▶ pacing.overrides ─┬─▶ each process with the role pacing ─┬─▶ pins of its group
//	                                          │                                      └─▶ accounts that it paces
//	                                          └─▶ each one with the role spendcache ──▶ packs that it serves
//
// There are three kinds: a process leads a shard, which is to own the partition of the shard; a
// campaign stops, or takes part in auctions with a fixed probability; and ad servers have the
// parameters that another datacentre writes. The topic is compacted. The key of a record is
// "leader/" and the shard, "campaign/", the account, a zero byte and the campaign, or "writer". A
// record is in the partition of the shard, or of the account, or in the first one, and replaces the
// record before of the same key. One that ends when it begins withdraws the record before.
//
// # Invariants
//
//   - PACE-27: An override ends at its time without a further record, MaxFor after it was given at
//     the latest.
//   - PACE-28: Of two overrides of a shard, of a campaign, or of the writer, the one that is later
//     in the topic holds, also after compaction and in processes that start later.
//
// # What it does not do
//
// It reads and writes no topic, and does not know whether a process runs: package processors
// ignores pins to processes that are away.
package override
