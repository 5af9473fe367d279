// Package idset is a set of 64-bit ids in two generations, for deduplication over a time window.
//
//	        Insert ─▶ ┌─────────┐  Rotate  ┌──────────┐  Rotate
//	                  │ current │ ───────▶ │ previous │ ───────▶ dropped
//	seen in one? ◀─── └─────────┘          └──────────┘
//
// Invariants:
//
//  1. A generation contains exactly the ids that were inserted while it was the current generation,
//     even if the previous generation contains them too. So each generation can be rebuilt on its
//     own, in any order, from the range of the log that it covers.
//  2. Insert reports an id as seen if and only if one of the generations contained it before.
//  3. An id takes 11 to 21 bytes: 8 bytes at a load factor of 3/8 to 3/4. A table grows by doubling
//     one of its 64 parts at a time, so that no single insert pays for the whole table.
//
// A Go map would do, but has no batched inserts, which hide the latency of cache misses.
//
// The package does not know time: the caller decides when to rotate. Ids are hashes: the set cannot
// distinguish two values with one hash. A Set must not be used by several goroutines at once.
package idset
