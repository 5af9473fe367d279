// Package totals says what was counted, so that a peer's work can be compared with what the log holds, key by key.
//
//	log   ──▶ Key, Value of each key ──▶ Add ──▶ Totals ─┐
//	state ──▶ its keys and values    ──▶ Add ──▶ Totals ─┴─▶ the same, or the peer did not do the work
//
// The Java program has the same key, value and digest; a test on each side holds them to the same figure.
//
// It counts no events: who keeps the sums of a key, and how, is the peer's own affair.
package totals
