// Package totals computes what was counted, so that the work of a peer can be compared with the
// log, key by key.
//
//	log   ──▶ Key, Value of each key ──▶ Add ──▶ Totals ─┐
//	state ──▶ its keys and values    ──▶ Add ──▶ Totals ─┴─▶ equal, or the peer did not do the work
//
// The Java program has the same keys, values and digest; a test on each side checks the same
// figures.
//
// The package counts no events: each peer keeps its own sums.
package totals
