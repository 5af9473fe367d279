// Package bridge reads the stream of the table of leases in one region and writes what was written there into topic
// lease.changes, exactly once. A Bridge is the handler of one task of the runtime: partition p is region p.
//
//	DynamoDB Streams                          Bridge                                    Kafka, in one transaction
//	DescribeStream ──▶ follow ── lineage: parents before children
//	                     │ one goroutine a shard
//	GetRecords ──────▶ reader ─ decode ─┐
//	                                    ├─▶ queue ── Flush ──┬─▶ lease.changes, lease.rejected, lease.journal
//	Scan ────────────▶ scanner ─ decode ┘  (bounded, FIFO)   └─▶ state: positions, streams, how far a scan is
//	                   beater ──▶ row B/region
//
// Whatever a goroutine finds out goes through the queue as a delivery: outputs, and the state that says that they were
// handed over. Flush hands over deliveries whole and in order, so records and positions are one transaction, and nothing but
// state tells a Bridge where to begin. A transaction that does not commit ends the Bridge; the next one reads the same again.
//
// # Invariants
//
//  1. A change that this region wrote is in lease.changes once, and one item's changes are in the order of the stream:
//     through rollovers and splits of shards, throttling, lost answers, aborts, takeovers and kills.
//  2. A shard is read when its parent's last record is in the queue before it, or when the parent is listed no more, in two
//     whole listings, and was made more than 24 hours ago.
//  3. A shard that is found, however late, is read from its oldest record, never from the newest.
//  4. What the stream has lost is said (log, metric, lease.journal) and made good by a scan of the region's rows.
//     An endpoint that does not answer loses nothing until 24 hours are over.
//  5. A shard that was read to its end is remembered for 48 hours, twice as long as it can be listed: it is not read again.
//  6. A record that is not of the table's schema is in lease.rejected with its reason, and those after it go on.
//  7. Memory is bounded: by Config.Requests answers, and Config.QueueBytes of deliveries.
//  8. Flush, Fold and New ask nobody: a region that does not answer holds up no other.
//
// # What it does not do
//
// A row that was deleted in a gap of the stream is not noticed, nor to which pool a resource belonged before it: a scan tells
// what is, not what was. Lease rows are never deleted; the balancer finds out by a command that is in vain. A scanned row may come before older changes of it that are still on their way: readers keep the greatest version.
// It does not order the changes of different items, nor those that other regions wrote.
package bridge
