// Package logreader reads partitions of a Kafka cluster without a consumer group, for a
// stream.Source that copies the topics of another cluster.
//
//	                     Reader                          Partition
//	brokers ──records──▶ one client ──▶ queue, bounded ──▶ Next
//	        ──topic ids, first and end offsets, each second──▶ Status
//
// The caller keeps the positions. A Partition begins at the Position with which it was opened, and
// each Batch has the position after it. DescribeExtent and DescribeWritten ask once, without a
// Reader.
//
// # Invariants
//
//   - RUN-51: Next returns the committed records of a partition, each once, in the order of their
//     offsets. Control records and the records of aborted transactions are left out.
//   - RUN-52: All records of a partition are of one topic: the topic that had its name when the
//     partition was first read. A topic that was deleted and created again stops the partition
//     (RecreatedError), even if it has a record at the position. So does another number of
//     partitions, if Config.Partitions is set.
//   - RUN-53: Nothing is skipped. A partition stops where the log has lost records, because of
//     retention or of a leader that lacked them (TruncatedError), or has a batch that cannot be
//     decoded. It continues by itself when the cause is gone. New records at the offsets of records
//     that were read and lost are noticed by their leader epoch.
//   - RUN-54: The memory of a partition is bounded by Config.QueueBytes and one fetch. A partition
//     whose caller is slow, or that cannot be read, delays no other partition.
//   - RUN-55: A cluster that does not answer is not an error: Next waits, and Status has the
//     reason.
//
// # Locks
//
// Reader.mu guards fields, and is not held during a call of the client that may wait for its
// requests: AddConsumePartitions, RemoveConsumePartitions, SetOffsets and Close. The session's
// goroutine makes these calls; others note in Reader.removed what the client has to stop reading.
// Pausing and resuming fetches does not wait. Open and Close exclude each other by a channel, since
// the Close of the last partition waits for the clients: in a bubble of testing/synctest, a
// goroutine that waits for a mutex would stop the clock of the one that has it.
//
// # What it does not do
//
// It balances nothing: callers decide which process opens which partition. It stores no position.
// Batches that compaction has emptied move the position in Status a second later, and no Batch.
package logreader
