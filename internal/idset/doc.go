// Package idset is a set of 64-bit ids with batched inserts, for deduplication. A caller that
// deduplicates over time has one Set for each span of time, and drops whole sets.
//
//	ids, and the Set of each ─▶ Insert ─▶ New | Known | Differs
//
// An id is a hash of 60 bits and a tag of 4 bits; see ID. Ids with the same hash are the same id.
// The tag is a fingerprint of a value that all copies of an id should share. It costs no memory.
//
// Invariants:
//
//  1. Insert reports an id as New if and only if its set did not contain the hash before.
//  2. A set keeps the tag of the first insert. A copy with another tag is reported as Differs. Of
//     copies with another value, 15 of 16 have another tag; copies with the same value never do.
//  3. An id takes 11 to 21 bytes: 8 bytes at a load factor of 3/8 to 3/4. A table grows by doubling
//     one of its 64 parts at a time, so that no single insert pays for the whole table.
//
// A Go map would do, but has no batched inserts, which hide the latency of cache misses.
//
// The package does not know time. Ids are hashes: a set cannot distinguish two values with one
// hash. A Set must not be used by several goroutines at once.
package idset
