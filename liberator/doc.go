// Package liberator gives resources back whose lease ended: it watches every lease by a durable timer, and when the end has
// come by every clock it tells the executor of the owner's region. One Liberator is one task: one partition of lease.changes.
//
//	lease.changes ─ Fold ─▶ resource: greatest version, owner, end ──▶ one timer for each lease
//	                │                                                      │ its end is over
//	                └▶ settings of the pool                                ▼
//	                        │                             Fire ─▶ budget of the pool in the region
//	                        └─ quarantine, sub-partitions ──▶ │        │ spent: a slot later, in order
//	                                                          ▼        └▶ timer
//	              lease.commands.<owner> ◀── Flush ── Liberate, and a timer to say it again
//
// A lease is over for the executor when its end is before its clock less the skew. The timer stands at twice the skew after the
// end: if two clocks differ by no more than the skew, no command comes early, and since the resource is available only after
// a quarantine, which is no less than the skew, the wait costs little. A command that is early after all, or lost, is said
// again: after 30 s, then after twice as long each time, up to 10 min, until the stream shows a greater version.
//
// A resource that is given back goes into one of the pool's sub-partitions of the index, each of which takes about 1,000
// writes a second, agents' among them. So a pool has a budget in each region. Leases that end in a burst beyond it
// get slots in the order in which they ended.
//
// # Invariants
//
//  1. The row of a resource is of the greatest version seen, in whatever order changes come and however often.
//  2. A resource with a lease has one timer, never later than its next step, and others have none. A renewal leaves the timer
//     where it is; when that fires it looks at the row and moves on.
//  3. No command is for a lease that the task knows to be renewed, given back, or not over yet.
//  4. As long as the task knows of no greater version, the command is said again.
//  5. A command never has a quarantine or a number of sub-partitions that nobody set: a pool whose settings were not seen
//     waits, and Stats says how many did.
//  6. In any second of the timers' clock no more than twice the budget of a pool and region is commanded.
//  7. What is decided depends on the changes and on the times at which timers fired, on nothing else.
//
// # What it does not do
//
// It ends no lease: the executor's condition does. It keeps a small row for each resource that it has seen, also when it is
// free, because a late change of an older version must not bring a lease back. It takes no notice of what became of commands
// (lease.results): the stream of changes says it.
package liberator
