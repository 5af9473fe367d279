// Package state is one table of a core: what the runtime has committed, and over it what the core changed since.
//
//	core ──Put, Delete──▶ open ──Flush──▶ stream.Changes ──▶ the runtime's store
//	     ◀──────Get────── open, read, or stream.Get ◀────────┘
//
// In memory are the rows of the open transaction and those that were prefetched for the records or timers at hand; all others
// are in the store alone. Rows are values: a change that is not Put is not there.
package state
