// Package agent leases resources from pools: a library, and a direct client of DynamoDB.
//
//	GetLease ─▶ memory ─▶ one call per key at a time ─▶ machine of the protocol ─▶ DynamoDB, own region
//	              0 round trips                            1: there is a lease      │
//	                                                       3: a new one             └ renew, release: the lease's region
//	                    candidates, read ahead from the index, ──┘
//	                    some from each of several sub-partitions
//
// A lease is the right of a key to use a resource until a deadline. Whoever asks for the same key gets the same resource,
// in this process or another, here or in another region. Its token is greater than that of any earlier lease of the
// resource: what is protected by the resource can refuse smaller ones. The deadline is for the holder's own clock; it comes
// before the lease's end by as much as clocks may differ.
//
// The protocol is package lease's, which a model check has run through all interleavings. What it promises:
//
//   - No resource is used for two keys at one time, whatever crashes when, as long as clocks are off by no more than Config.Skew.
//   - Within a region a key has one resource at a time. Two regions that get a new key within the time of replication may
//     lease one each; the reaper finds it, and the next GetLease gives the winner's.
//   - A lease that nobody gives back lasts until its end.
//   - A process that dies in the middle of GetLease leaves nothing that another call does not finish or leave behind.
//
// What it does not do: it frees no lease at its end (the liberator does), moves nothing between regions, and keeps nothing on disk.
package agent
