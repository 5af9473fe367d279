// Package totals computes the totals of the log and of a peer's state, so that the two can be
// compared key by key.
//
//	log   ──▶ Key, Value of each key ──▶ Add ──▶ Totals ─┐
//	state ──▶ its keys and values    ──▶ Add ──▶ Totals ─┴─▶ equal, or the peer did not do the work
//
// The Java program has the same keys, values and digest; a test on each side checks the same
// figures.
//
// The package counts no events: each peer keeps its own sums.
package totals
