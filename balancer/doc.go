// Package balancer forecasts where resources will be leased, and moves free ones there before they are missed. One Balancer
// is one task: one partition of the changes of leases, with all pools in it, in all regions.
//
//	lease.changes ─┐         ┌─▶ resources by name, version; the available by region and age      (the store)
//	lease.results ─┴─ Fold ──┼─▶ counts: free, ends of leases by time; arrivals: Series, Profile  (memory)
//	                         └─▶ flights: transfers that were commanded and not seen yet          (both)
//	every second ─── Fire ── views, one for each region ── Pull, Plan ──▶ lease.commands.<region>  transfers, headroom
//	                                                                  ├─▶ lease.headroom          how each pool stands
//	                                                                  └─▶ lease.journal           why, in a sentence
//
// Plan, Pull and Explain are functions of views alone, which lease.headroom has: a plan can be made dry from that topic.
//
// What a region needs is the new leases expected in the next ten minutes, refused ones included, with a margin for what
// forecasts have been off by, less what comes back by itself: quarantines that end and, discounted, leases that do. Who
// lacks that gets half as much again as it lacks, from those with the most beyond their own need. Nothing else moves.
//
// # The caller's part
//
//  1. New, then Fold, OnTimer and Flush in turn. What a Flush handed over is what Get and Scan return from the next call
//     on: see stream.Handler.
//  2. After an aborted transaction, or an error, throw the Balancer away and make a New one. There is no undo.
//
// # Invariants
//
//	I10 Each resource that is known is in exactly one of free, leased and other, of one region; the counts are what a
//	    recount of the store gives.
//	B1  A plan never takes from a region what that needs itself (its share, if there is not enough for all) or has as a floor,
//	    never what is leased, and never more than is there and not yet decided to leave.
//	B2  Nothing is sent into a region that is evacuated, adopted, or lags, nor to or from one that is not heard of.
//	B3  At constant demand no move is taken back, and a plan made again while the first is under way is empty.
//	B4  A resource is in at most one flight. It is commanded again only after that ended: by a change, or by its time.
//	B5  Forecasts go by the time of the changes, not of their reading: a log read late gives the same.
//	B6  A refused record leaves no trace.
//	B7  What is known of a resource depends on which changes and results were folded since it is known at all, not on their
//	    order: results tell of versions, too, and one that is greater than all changes says that the resource may be in another
//	    pool by now.
//
// # What it does not do
//
// It writes nothing: the executor of the region that owns a resource does, if it still is as the command says. So a plan
// from counts that are old is at worst in vain. It moves no leased resource and ends no lease, counts no key twice or not
// (package dedup), and knows nothing of what a move costs between which regions: all are alike.
package balancer
