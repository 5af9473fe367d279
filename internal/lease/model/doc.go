// Package model runs the lease protocol through every interleaving, breadth first, until there is no new state.
//
//	clients ─┐ get, renew, release, settle; an answer lost; a crash       ┌─ copies of rows in each region, replicated
//	commands ├▶ one step of one of them, or a tick of time ──▶ next state ┤  one by one, whenever
//	time     ┘ liberate, transfer, supersede, adopt; late and repeated    └▶ invariants of package lease
//
// The clients are the machines of package lease themselves, and the table's rows change by its rules; only names and times
// are small. Each client's clock is off by at most the skew; so are the clocks by which regions order their writes. A
// candidate may have been read long before it is used. What is found is a shortest transcript.
//
// It does not check what is outside of the protocol: how an agent retries, what it keeps in memory, the wire.
package model
