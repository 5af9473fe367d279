// Package push writes the dataset of a spend counter to the Kafka of another datacentre.
//
// The dataset is the rows of spend.by.<dc>, and the health record of each shard. Its copy in
// another datacentre is the compacted topic spend.from.<dc>. A Config is for one target. Its
// processor runs with the brokers of the target, so that group, transactions and positions are
// there: task p copies partition p.
//
//	own Kafka                     task p                          one Kafka transaction at the target
//	spend.by.<dc>[p] ─▶ follow ── newest row of each key ─┐
//	                 ─▶ compare ─ all rows ───────────────┼─▶ queue ─▶ Flush ┬─▶ spend.from.<dc>[p]
//	target's Kafka                                        │                  └─▶ state: position
//	spend.from.<dc>[p] ─▶ compare ─ rows to delete ───────┘
//
// Following: once a second a task hands over the newest record of each key that was written since,
// and behind them the newest health record. Comparing: where the position cannot tell what the copy
// has, a task reads both logs, writes the rows of the dataset, deletes the others, and follows
// again. It compares by itself when there is no position, when the copy or the dataset was
// created again, when records were lost before they were read, and when the position is so old that
// compaction may have removed tombstones behind it.
//
// # Invariants
//
//   - PUSH-1: Once the dataset rests, the copy has for each key the last value of the dataset, and
//     no other key. This holds through kills, takeovers, aborted transactions, restarts of the
//     brokers at both ends, compaction at both ends, and the deletion of either topic.
//   - PUSH-2: Rows and the position behind them are committed in one transaction at the target. The
//     position is nowhere else. So a former owner of a partition cannot write a row behind the
//     rows of the next one.
//   - PUSH-3: The values of a key in the copy are in the order in which the dataset had them. Some
//     may be left out.
//   - PUSH-4: A health record in the copy is behind every row that the dataset had before it, with
//     the same value or a newer one. While the logs are compared, the copy has no health record.
//   - PUSH-5: Nothing waits for an operator, except a batch of the dataset that cannot be decoded,
//     and a dataset or a copy with another number of partitions.
//   - PUSH-6: Memory is bounded while a cluster is away: by Config.QueueBytes and one batch, and
//     while comparing by the keys of a partition. At most four partitions compare at a time.
//   - PUSH-7: New and Flush make no request. A target that is away delays no other target.
//
// PUSH-4 needs a bound on compaction. A reader that is behind misses records that compaction has
// removed, and reads the newer ones of their keys later. The dataset's setting
// min.compaction.lag.ms keeps each record for a minute, so a reader that is less than
// Config.HealthAge behind has missed nothing. Health records that are older are held back.
//
// # What it does not do
//
// It does not interpret rows. While it follows, it does not read the copy: rows that another
// program writes there stay until the next comparison, and rows that the target loses are missing
// until they change. On brokers before Kafka 4.0, a copy that is created again while it is written
// gets rows for up to 12 s before the comparison begins. It creates no topic. It takes no control
// records.
package push
