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
// Invariants beside those of package lease:
//
//	I9  A resource that is neither available nor leased was retired, and only revive puts it into use again.
//	I19 A late command does not undo what an administrator did after it was decided.
//	I20 No resource is offered before the end of the last lease that any region knows of, and the quarantine.
//
// Worlds are small, and still have millions of states. Of those that differ in names only one is looked at (symmetry.go),
// and what has no say any more is forgotten (forget.go). A world may go on from a history, given by its transcript, so that
// what takes long to come about is met too. Each condition of each rule is shown to be needed in one of the worlds.
//
// It does not check what is outside of the protocol: how an agent retries, what it keeps in memory, the wire.
package model
