// Package dense numbers keys consecutively from 0 by their 64-bit hashes, so that slices can hold
// the values of keys.
//
//	hash ──▶ slots: (32 bits of the hash, number) ──▶ candidates ──▶ the caller compares the keys
//
// Invariants:
//
//  1. The n-th Insert returns n-1. No single number is ever removed; Reset removes all.
//  2. Every number that was inserted with a hash is among the candidates of that hash. Other
//     numbers can be among them too. The caller compares the keys, so that equal hashes never merge
//     two keys.
//
// A number takes 8 bytes for the hash and 11 to 21 bytes for its slot. The slots double at a load
// factor of 3/4.
//
// The package does not store keys or values and does not hash. A Table must not be used by several
// goroutines at once.
package dense
