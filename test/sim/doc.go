// Package sim runs the whole lease loop as a model, in one goroutine, from one seed: the same seed gives the same transcript to
// the letter. It takes some ten milliseconds for a minute and a half, with faults.
//
//	Draw(seed) ─▶ Scenario ─▶ Run ─▶ History ─▶ Judge ─▶ Violation ─▶ Shrink ─▶ Explain: a smaller scenario, told in words
//
//	users ─ agents: machines of package lease ──▶ tables of 2 to 4 regions, written by the rules of package lease
//	                                               │  ▲        copies: last writer wins, late, by clocks that are off
//	                                        stream │  │ order
//	                                               ▼  └──────── executors ◀── commands ──┐ └─▶ results ─┐
//	                                            bridges ──▶ changes ──▶ liberator, dedup, balancer ◀────┘
//	                                                                    in transactions that commit or abort
//
// What is real: the machines and rules of package lease, what package order makes of a command and of an answer, and the
// three cores. What is a model of the real one: tables, network, bridges, executors, users, the log and its runtime.
//
// A scenario has a warm-up, then one to three faults at a time with quiet between them; then all faults end (heal), users
// go on for a moment and become calm, and what must come to its end has the time for it. Then the history is judged. A run
// that lacks one of the marks that make it worth something, such as a duplicate, counts as empty (Missing).
//
// Invariants:
//
//	I6        A command that was committed once is in its topic once.
//	I7        No two keys use one resource at one time: as their users see it, until their deadline, by the true time.
//	I7r       In a region no two users of a key use different resources at one time.
//	I8        In the end a key is leased in one region at most, and all who ask and are told of a lease are told of the same.
//	I9        A resource's row is available or leased, never both and never neither.
//	I10       Each resource is there in the end, of one owner in all regions; the balancer's figures are what a count of the
//	          rows gives; nothing is sent twice at a time, and nothing is under way for ever.
//	I17       A lease that nobody released is not ended before its end.
//	I18       Who writes a row has seen its last write, and writes with a later time. In the end all copies are the last write.
//	I20       No resource is available before the end of its last lease and the quarantine.
//	liveness  Ended leases are given back, commands have results, duplicates are resolved, some seconds after the last fault.
//	results   What is said to be done was done.
//	rejects   No core refuses what the others say.
//	evacuation  A region that is evacuated has nothing free in the end.
//	home        Settings have one writer: in the end all regions have the last version that was written.
//
// Each of the checks is shown to find something: Mutations are systems with something wrong.
//
// What it does not do: it has one pool, whose records are in one partition, and no retired resources; agents read the table
// each time. The home moves only when it is lost, by losing its power: its machines and its endpoint. The bridge's and the
// executor's own code, the runtime and the wire are tested where they are.
package sim
