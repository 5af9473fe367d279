// Package logreader reads partitions of a Kafka cluster without a consumer group, for a
// stream.Source that copies the topics of another cluster.
//
//	                     Reader                          Partition
//	brokers ──records──▶ one client ──▶ queue, bounded ──▶ Next
//	        ──topic ids, first and end offsets, each second──▶ Status
//
// The caller keeps the positions. A Partition begins at the Position with which it was opened, and
// each Batch has the position after it.
//
// # Invariants
//
//   - RUN-51: Next returns the committed records of a partition, each once, in the order of their
//     offsets. Control records and the records of aborted transactions are left out.
//   - RUN-52: All records of a partition are of one topic: the topic that had its name when the
//     partition was first read. A topic that was deleted and created again stops the partition
//     (RecreatedError), even if it has a record at the position. So does another number of
//     partitions, if Config.Partitions is set.
//   - RUN-53: Nothing is skipped. A partition stops where the log has lost records (by retention,
//     or by a leader that lacked them) or has a batch that cannot be decoded. It continues by
//     itself when the cause is gone.
//   - RUN-54: The memory of a partition is bounded by Config.QueueBytes and one fetch. A partition
//     whose caller is slow, or that cannot be read, delays no other partition.
//   - RUN-55: A cluster that does not answer is not an error: Next waits, and Status has the
//     reason.
//
// # What it does not do
//
// It balances nothing: callers decide which process opens which partition. It stores no position.
// If compaction has emptied batches at the end of a log, the position stays before these, and
// Status shows a lag that the topic does not have. Package follower is for compacted topics.
package logreader
