// Package stream holds the change records of a table as DynamoDB Streams shows them: in shards that
// close and have children, for 24 hours or another retention.
//
//	Add ─▶ open shard of the key's hash ─▶ records, ascending by sequence number
//	                │ after Rollover or RolloverRecords
//	                ▼
//	         closed shard ─▶ child of the same range of hashes, or two of half the range each
//
// Each call has the time as a parameter, in nanoseconds since 1970. It must not go back. A rollover
// or a trim that is due between two calls takes place in the next call, with the time at which it
// was due. So a stream is a function of its settings and of the calls of Add, and a journal of
// those calls restores it.
//
// Invariants:
//
//   - The ranges of the open shards divide the hashes: each key has exactly one open shard, and the
//     shard's ancestors have the key's earlier records.
//   - Sequence numbers ascend in the whole stream. Those of a child are greater than those of its
//     parent.
//   - A record is in exactly one shard, and stays there for the retention.
//
// The package does not decide what a change is, and a Stream is not safe for concurrent use:
// package dynamotest holds its mutex.
package stream
