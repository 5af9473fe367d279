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
// has time to finish. Then the history is checked. A run without one of the required events, such
// as a duplicate, counts as empty (Missing).
//
// Check has these checkers, by the numbers of docs/invariants.md:
//
//	LEASE-1   oneKey, in true time, each user until its deadline
//	LEASE-2   oneResource
//	LEASE-3   oneWinner, over all regions, at the end
//	LEASE-4   rowConsistent
//	LEASE-5   neverEarly
//	LEASE-6   noLostWrite: each write is based on the row's last write and has a later time; at the end all copies
//	          equal the last write
//	LEASE-8   notOffered
//	LEASE-36  counted, at the end
//	LEASE-40  onceInFlight
//	LEASE-55  oneHome: at the end all regions have the last version of each setting that was written
//	LEASE-62  commandOnce
//	LEASE-63  liveness, within some seconds after the last fault
//	LEASE-64  trueResults
//	LEASE-65  nothingRefused
//	LEASE-66  emptied, at the end
//	LEASE-67  conserved, at the end
//
// Mutation tests prove that each checker finds violations: see Mutations.
//
// The model has one pool in one partition and no retired resources, and its agents keep nothing in
// memory. The home region moves only after its loss, when all of its processes and its DynamoDB
// endpoint have stopped. The code of bridge, executor, runtime and wire formats has its own tests.
package sim
