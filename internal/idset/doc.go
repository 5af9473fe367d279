// Package idset remembers 64-bit ids in two generations.
//
//	          Insert ─▶ ┌─────────┐  Rotate  ┌──────────┐  Rotate
//	                    │ current │ ───────▶ │ previous │ ───────▶ forgotten
//	seen in either? ◀── └─────────┘          └──────────┘
//
// Invariants:
//  1. A generation holds exactly the ids inserted while it was the current one, whether the other one held them or
//     not. So each can be rebuilt on its own, from the stretch of the log that it covers, in any order.
//  2. Insert says true (seen) iff one of the two generations held the id before.
//  3. An id costs 8 bytes at a fill of 3/8 to 3/4: 11 to 21 bytes. Growth doubles one of 64 parts at a time, so that no
//     single insert pays for all.
//
// It knows nothing of time: the caller decides when to rotate. Ids are hashes: two things with one hash are one to it.
// It is not safe for concurrent use.
package idset
