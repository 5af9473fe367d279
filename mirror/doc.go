// Package mirror copies topics of the other datacentres into the Kafka of this one, each record
// exactly once.
//
// A Mirror is a stream.Source. Task p copies partition p of each topic of each peer.
//
//	peer's Kafka            Mirror of partition p               one Kafka transaction here
//	ads.events[p] ──▶ copier ── batch: copies + position ─┐
//	ads.adjustments[p] ▶ copier ──────────────────────────┼─▶ queue ─▶ Flush ┬─▶ ads.events.from.<peer>[p] ...
//	other peers ──▶ copiers ──────────────────────────────┘                  └─▶ state: positions
//	mirror.control[p] ──▶ Fold: instructions of an operator
//
// Each peer has one logreader.Reader in a process, so a peer's connections do not grow with the
// partitions. A copy has the partition, key, value, headers and timestamp of its record, and the
// header weir-origin with its place in the peer's log (events.Origin).
//
// # Invariants
//
//   - MIRROR-1: The copies of a partition are the committed records of the peer's partition, each
//     once, in its order and with its bytes. This holds through kills, takeovers, aborted
//     transactions, and restarts of the brokers at both ends.
//   - MIRROR-2: A copy and the position after it are committed in one transaction. The position is
//     nowhere else.
//   - MIRROR-3: Origin.Previous of a copy is the offset of the record that was copied before it. So
//     a reader of the copies finds each loss: records are missing between two copies if and only if
//     Previous of the later one is not the offset of the earlier one.
//   - MIRROR-4: Nothing is skipped without an operator. If a peer has lost records, has created a
//     topic again, has another number of partitions, or has a batch that cannot be decoded, this
//     partition of this topic stops and reports what to do. The others continue.
//   - MIRROR-5: An instruction is carried out at the offset that it names, or not at all: one that
//     comes late changes nothing.
//   - MIRROR-6: Memory is bounded by Config.QueueBytes and by the queues of the readers, however
//     long a peer is away. No copier has more than its share of the queue, so a peer that catches
//     up does not delay the others.
//   - MIRROR-7: New, Fold and Flush make no request: a peer that is away delays no other work.
//   - MIRROR-8: Each partition of Config.Heartbeats gets a heartbeat each second, so that readers
//     of its copies distinguish silence from an outage.
//   - MIRROR-9: A log is copied under the name of one datacentre only. The own log is not copied,
//     nor a log that is or was copied under another name (ClaimedError).
//   - MIRROR-10: Copies of records that a peer has taken at the offsets of lost records have
//     another log in their Origin than the copies of the lost records, so that no reader takes them
//     for repetitions.
//
// # What it does not do
//
// It does not interpret what it copies: readers of the copies reject invalid records. A record that
// is too large for a transaction here is copied without key, value and headers; in a compacted
// topic its place is the key. Deletions of
// records, settings of topics and offsets of groups are not copied. Nothing is written to a peer.
package mirror
