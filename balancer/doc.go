// Package balancer forecasts where resources will be leased, and transfers free resources to these
// regions before they run out. One Balancer is one task: one partition of lease.changes, with its
// pools in all regions.
//
//	lease.changes ─┐         ┌─▶ resources by name; the available by region and age             (store)
//	lease.results ─┴─ Fold ──┼─▶ counts: free, lease ends by time; arrivals: package forecast  (memory)
//	                         └─▶ transfers that were commanded and have not been seen            (both)
//	every second ── OnTimer ── plan.View of each region ── package plan ──┬─▶ lease.commands.<region>  transfers, headroom
//	                                                                      ├─▶ lease.headroom           each pool and region
//	                                                                      └─▶ lease.journal            why, in a sentence
//
// The need of a region, over the next ten minutes:
//
//	need = new leases, refused requests included + margin for the forecast's error
//	       - quarantines that end - leases that end, at a discount
//
// A region whose free resources are below its need gets one and a half times its shortfall, from
// the regions with the largest surplus. Nothing else moves.
//
// # The caller's part
//
//  1. Call New, then Fold, OnTimer and Flush in turn. After a Flush, the next call reads its
//     changes with Get and Scan: see stream.Handler.
//  2. After an aborted transaction, or an error, discard the Balancer and call New. Changes cannot
//     be undone.
//
// # Invariants
//
//   - LEASE-36: Each known resource is counted in exactly one of free, leased and other, of one
//     region. The counts equal a recount of the store.
//   - LEASE-37: A plan takes from a region neither what the region needs itself (its share, if
//     there is not enough for all) nor its floor, no leased resource, and at most the free
//     resources without a transfer.
//   - LEASE-38: Nothing is sent to a region that is evacuated, adopted or lagging, nor to or from a
//     region without a fresh heartbeat.
//   - LEASE-39: At constant demand no move is reversed, and a plan made again during a transfer is
//     empty.
//   - LEASE-40: A resource has at most one transfer. The next one is commanded only after a change
//     or the timeout has ended it.
//   - LEASE-41: Forecasts use the times at which changes were written, not read: if a log is read
//     late, the forecasts are the same.
//   - LEASE-42: A rejected record leaves no trace.
//   - LEASE-43: The state of a resource depends on the set of changes and results since its first
//     change, not on their order. Results have versions, too: a version greater than that of all
//     changes means that the resource may have moved to another pool.
//
// # What it does not do
//
// It writes no rows: the executor of the region that owns a resource does, if the row still has the
// version of the command. So a plan from stale counts at worst has no effect. It moves no leased
// resource, ends no lease, and does not detect duplicate leases (package dedup does). It does not
// know the cost of a transfer between two regions: all pairs are alike.
package balancer
