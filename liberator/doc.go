// Package liberator releases the resources of ended leases. It has a durable timer for each lease;
// when the lease has ended by every clock, it commands the executor of the owner's region to
// release the resource. One Liberator is one task: one partition of lease.changes.
//
//	lease.changes ─ Fold ─▶ resource: greatest version, owner, end ──▶ one timer for each lease
//	                │                                                      │ after the end
//	                └▶ settings of the pool                                ▼
//	                        │                          OnTimer ─▶ budget of the pool in the region
//	                        └── quarantine, buckets ────▶ │        │ spent: a later slot, in order
//	                                                      ▼        └▶ timer
//	              lease.commands.<owner> ◀── Flush ── Liberate, and a timer to repeat it
//
// The executor treats a lease as over when its end is before the executor's clock less the skew.
// The timer fires twice the skew after the end. So no command is early if two clocks differ by at
// most the skew. The wait costs little: the resource is available only after a quarantine, which is
// at least the skew. A command that is early or lost is repeated after 30 s, then after twice as
// long each time, up to 10 min, until the stream shows a greater version.
//
// A released resource gets an entry in one of the pool's buckets of the index. A bucket takes about
// 1,000 writes per second, those of agents included. So a pool has a budget of commands per second
// in each region. If more leases end than the budget allows, they get later slots, in the order in
// which they ended.
//
// # Invariants
//
//   - LEASE-22: The row of a resource has the greatest version seen, in whatever order changes
//     arrive and however often.
//   - LEASE-23: A resource with a lease has one timer, never later than its next step. Other
//     resources have none. A renewal does not move the timer: when the timer fires, OnTimer reads
//     the row and sets the timer again.
//   - LEASE-24: No command is for a lease that, as far as the task knows, was renewed or released,
//     or has not ended.
//   - LEASE-25: The command is repeated as long as the task knows of no greater version.
//   - LEASE-26: A pool without known settings waits, and Stats counts that. No command has a
//     default quarantine or a default number of buckets.
//   - LEASE-27: In any second of the timers' clock, at most twice the budget of a pool and region
//     is commanded.
//   - LEASE-28: Decisions depend only on the changes and on the times at which timers fired.
//
// # What it does not do
//
// It frees no resource itself: the executor's conditional write does. It keeps a small row for each
// resource that it has seen, also when the resource is free, so that a late change of an older
// version cannot restore a lease. It does not read the results of commands (lease.results): the
// stream of changes shows their effect.
package liberator
