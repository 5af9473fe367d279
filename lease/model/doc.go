// Package model is a model checker for the lease protocol. It explores all interleavings of a small
// configuration, breadth first, until there is no new state.
//
//	clients ─┐ get, renew, release, settle; a lost answer; a crash        ┌─ replicas of rows in each region,
//	commands ├▶ one step of one of them, or one tick of time ─▶ next state ┤  replicated one by one, at any time
//	time     ┘ liberate, transfer, supersede, adopt, retire, revive;      └▶ invariants of package lease
//	           each late or repeated
//
// A state consists of the resource rows and key rows in each region, the clients with their state
// machines, the commands under way, and the time. The transitions are:
//
//   - a client begins to get, renew, release or settle a lease, or executes the next step of its
//     state machine: reads the key rows, picks a candidate, writes a key row or a resource row;
//   - an answer is lost, or a client crashes between two steps;
//   - a command is decided on a row, as some region has it; later it is executed, repeated, or
//     dropped because it is too late;
//   - one row is replicated to one region;
//   - a region is cut off, and comes back;
//   - the time advances by one tick.
//
// The state machines of the clients are those of package lease itself, and rows change by its
// rules. Only the numbers of names and times are small. Each client's clock differs from the true
// time by at most the skew. The clocks by which regions order their writes differ by at most the
// skew, too. A candidate may have been read long before it is used. If an invariant is violated,
// the checker reports a shortest history that violates it.
//
// The invariants are those that package lease lists.
//
// Two reductions keep configurations small enough. Of states that differ in names only, one is
// explored (symmetry.go). State that can have no effect any more is removed (normalize.go). A
// configuration can start after a given history, so that violations with long histories are found
// as well. Tests show that each condition of each rule is needed in one of the configurations.
//
// It does not check what is outside the protocol: how an agent retries, what it keeps in memory, or
// the encoding of requests.
package model
