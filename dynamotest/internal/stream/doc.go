// Package stream holds the change records of a table, as DynamoDB Streams shows them: in shards that close and have
// children, for 24 hours.
//
//	Add ─▶ open shard of the key's hash ─▶ records, ascending by sequence number
//	                │ after Rollover or RolloverRecords
//	                ▼
//	         closed shard ─▶ child of the same range of hashes, or two of half the range each
//
// Time comes with each call, as nanoseconds, and must not go back. What is due between two calls, a rollover or a trim,
// happens in the next call as if it had happened in time: a stream is a function of its settings and of the calls of Add,
// which is how it is restored from a journal.
//
// Invariants:
//   - The open shards part the hashes among them: each key has exactly one open shard, whose ancestors have the key's
//     earlier records.
//   - Sequence numbers ascend in the whole stream. A child's are above those of its parent.
//   - A record is in exactly one shard, and leaves it only 24 hours later.
//
// It does not decide what is a change, and does no locking: see package service.
package stream
