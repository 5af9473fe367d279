// Package sim simulates the whole lease loop in one goroutine, from one seed: the same seed gives
// the same transcript, byte for byte. A run of a minute and a half of virtual time with faults
// takes some ten milliseconds.
//
//	Draw(seed) ─▶ Scenario ─▶ Run ─▶ History ─▶ Check ─▶ Violation ─▶ Shrink ─▶ Explain: a smaller scenario, in words
//
//	users ─ agents: machines of package lease ──▶ tables of 2 to 4 regions, written by the rules of package lease
//	                                               │  ▲        replication: last writer wins, with lag and clock skew
//	                                        stream │  │ writes
//	                                               ▼  └──────── executors ◀── commands ──┐ └─▶ results ─┐
//	                                            bridges ──▶ changes ──▶ liberator, dedup, balancer ◀────┘
//	                                                                    in transactions that commit or abort
//
// The machines and rules of package lease, package lease/command and the three cores are real.
// Tables, network, bridges, executors, users, topics and the runtime are models.
//
// A scenario has a warm-up, then one to three faults at a time with quiet periods between them.
// Then all faults end, users make requests for a short time and stop, and everything in progress
// has time to finish. Then the history is checked. A run that lacks one of the required marks, such
// as a duplicate, counts as empty (Missing).
//
// Invariants:
//
//	I6          A committed command is in its topic once.
//	I7          No two keys use one resource at one time, in true time, each until its deadline.
//	I7r         Of the leases that a region granted, no two users of a key use different resources at one time.
//	I8          At the end a key has at most one lease over all regions, and all who ask receive that lease.
//	I9          A resource's row is available or leased, never both and never neither.
//	I10         At the end each resource exists and has one owner in all regions; the balancer's counts equal
//	            those of the rows; no resource is in two transfers at a time or in transit for ever.
//	I17         A lease that was not released does not end before its deadline.
//	I18         Each write is based on the row's last write and has a later time. At the end all copies equal
//	            the last write.
//	I20         No resource is available before the end of its last lease and the quarantine.
//	liveness    Ended leases are liberated, commands have results and duplicates are resolved within some seconds
//	            after the last fault.
//	results     Every result that reports success belongs to a write.
//	rejects     No core rejects a record of another part.
//	evacuation  An evacuated region has no free resource at the end.
//	home        Settings have one writer: at the end all regions have the last version that was written.
//
// Mutation tests prove that each checker finds violations: see Mutations.
//
// The model has one pool in one partition and no retired resources, and agents read the table each
// time. The home region moves only after its loss: all of its processes and its DynamoDB endpoint
// have stopped. The code of bridge, executor, runtime and wire formats has its own tests.
package sim
