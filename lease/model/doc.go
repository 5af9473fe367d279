// Package model runs the lease protocol through every interleaving, breadth first, until there is no new state.
//
//	clients ─┐ get, renew, release, settle; an answer lost; a crash       ┌─ copies of rows in each region, replicated
//	commands ├▶ one step of one of them, or a tick of time ──▶ next state ┤  one by one, whenever
//	time     ┘ liberate, transfer, supersede, adopt, retire, revive;      └▶ invariants of package lease
//	           late and repeated
//
// The clients are the machines of package lease themselves, and the table's rows change by its rules; only names and times
// are small. Each client's clock is off by at most the skew; so are the clocks by which regions order their writes. A
// candidate may have been read long before it is used. What is found is a shortest transcript.
//
// The invariants are those of package lease.
//
// Worlds are small, and still have millions of states. Of those that differ in names only one is looked at (symmetry.go),
// and what has no say any more is forgotten (forget.go). A world may go on from a history, given by its transcript, so that
// what takes long to come about is met too. Each condition of each rule is shown to be needed in one of the worlds.
//
// It does not check what is outside of the protocol: how an agent retries, what it keeps in memory, the wire.
package model
