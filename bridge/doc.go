// Package bridge copies the changes of the lease table in one region from DynamoDB Streams to the
// topic lease.changes, each change exactly once.
//
// A Bridge is a stream.Source. Partition p of the processor is region p of Config.Regions.
//
//	DynamoDB                       Bridge                              one Kafka transaction
//	DescribeStream ──▶ streamReader ── lineage: parents before children
//	                        │ one goroutine per shard
//	GetRecords ──────▶ shardReader ── decoder ─┐
//	                                           ├─▶ queue ─▶ Flush ┬─▶ lease.changes, lease.rejected,
//	Scan ────────────▶ scanner ────── decoder ─┘                  │   lease.journal
//	                                                              └─▶ state: positions of shards,
//	UpdateItem ◀────── writeHeartbeats: row B/region                  streams, progress of scans
//
// Readers pass everything to Flush in batches. A batch holds output records together with the state
// after them, so records and positions are committed in one transaction. A new Bridge begins at the
// state that was committed last. See the section Sources of package stream.
//
// # Invariants
//
//   - LEASE-14: Each change that this region wrote is in lease.changes once. The changes of one
//     item are in the order of the stream. This holds through rollovers and splits of shards,
//     throttling, lost responses, aborted transactions, takeovers and kills.
//   - LEASE-15: A shard is read after the last record of its parent is in the queue. A shard whose
//     parent is unknown is read when two complete listings lack the parent and the parent is older
//     than 24 hours.
//   - LEASE-16: A shard that no record was read from is read from its oldest record, however late
//     the shard was found.
//   - LEASE-17: When the stream has lost records, the bridge reports it in the log, a metric and
//     lease.journal, and repairs it with a scan of the region's rows. An endpoint that does not
//     answer loses nothing for 24 hours.
//   - LEASE-18: A shard that was read to its end is remembered for 48 hours, twice as long as it
//     can be listed, so it is not read again.
//   - LEASE-19: A record that does not follow the table's schema goes to lease.rejected with a
//     reason. The records after it are read.
//   - LEASE-20: Memory is bounded by Config.Requests responses and Config.QueueBytes of batches.
//   - LEASE-21: New, Fold and Flush make no request: a region that does not answer delays no other
//     region.
//
// # What it does not do
//
// It does not notice that a row was deleted, or that a resource left a pool, in a gap of the
// stream: a scan shows the rows as they are now. Lease rows are never deleted. The balancer finds a
// missing row when a command fails.
//
// A scanned row may precede older changes of the same row that are still in the stream. Readers
// keep the greatest version.
//
// It does not order the changes of different items, nor the changes that other regions wrote.
package bridge
