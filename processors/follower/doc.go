// Package follower keeps the last value of each key of Kafka topics in a local store, without a
// consumer group. A program that reads tables of other programs uses it: a cache, an ad server, a
// service that needs the rows of a changelog.
//
//	topics ─▶ read_committed ─┬─▶ load: all records, into a new slot ─▶ difference ─▶ switch
//	                          └─▶ follow: OnChange, then one batch: rows and positions ─▶ Pebble
//	brokers ─▶ topic ids, start and end offsets, once a second ─▶ position, as of
//
// A topic is a plain topic, usually compacted, or the changelog of a processor. In a plain topic
// the key of a row is the key of the record. In a changelog it is one byte of table and the state
// key; markers and barriers are skipped. A record without value deletes the row.
//
// A partition is loaded when its rows cannot be continued: the store is new, the topic was created
// again, the log starts behind the position or ends before it, or compaction may have removed
// tombstones that the store lacks. A load reads the partition from its start into a new slot of the
// store. At its end the new slot replaces the former one, so rows that the log no longer has are
// gone. Until then reads return the former rows, unless the topic was created again.
//
// A load collects rows in memory, sorts them and writes them as tables in the background. All loads
// share a quarter of the memory of the store's memtables, and the largest load writes first, so the
// tables are few and large. Records that arrive before the last table of a load is written belong
// to the load.
//
// # Invariants
//
//   - RUN-56: The rows of a partition equal a fold of the log up to the position. Rows and position
//     are written in one batch.
//   - RUN-57: A partition whose rows were complete at a time (as of) continues at its position only
//     within delete.retention.ms after that time: tombstones written since then are still in the
//     log. A shorter retention than a minute counts as a minute.
//   - RUN-58: OnChange is called for each change at least once, in the order of the offsets of a
//     partition, before the change is written. After a restart it may be called again for the last
//     changes. At the end of a load it is called for the difference between former and new rows, in
//     the order of the keys: values that were replaced within the load are not reported.
//   - RUN-59: If the brokers do not answer, reads return the rows of the store, and the time as of
//     which they were complete.
//
// # Damaged logs
//
// A batch that cannot be decoded for kafka.UnreadableAfter, such as one with a wrong checksum, or
// that decompresses to more than kafka.MaxBatchBytes, is not passed: a row could be wrong for ever.
// Status has the partition in StateWaiting, with Unreadable: offsets and cause. Reads return the
// rows from before the batch, and AsOf states their age. The other partitions continue. The batch
// is fetched again every 30 s, so the partition continues by itself after one of these:
//
//   - A replica that has the batch whole becomes the leader.
//   - Retention, or an administrator, deletes the log up to the batch. The partition is loaded from
//     the records that are left, and OnChange gets the difference.
//   - The topic is deleted, created again and written again by its owner.
//
// # What it does not do
//
// It reads no partition alone: every process has all partitions. It does not read transactions
// across partitions as one. If a topic without compaction deletes records, their rows stay until
// the partition is loaded again. After the loss of the store, OnChange reports no deletions of rows
// that only the lost store had: a program that keeps a view in memory starts the view from OnOpen.
package follower
