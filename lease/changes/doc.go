// Package changes is what the cores have in common that fold lease.changes row by row: decoding a batch, refusing what is not
// right, and the settings of pools as far as all look at them.
//
//	Batch ─▶ Each: decode ─▶ keys of the rows ─▶ prefetch, in one pass ─▶ fold, one change after the other
//	                 └────────── Refusal ─▶ Batch.Reject ◀──────────────────┘
package changes
