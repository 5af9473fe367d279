// Package dense gives things numbers from 0 by their 64-bit hash, so that what is known of them can lie in plain slices.
//
//	hash ──▶ slots: (32 bits of the hash, number) ──▶ candidates, the caller compares the keys
//
// Invariants:
//  1. The n-th Insert gives number n-1; nothing is ever removed (Reset forgets all).
//  2. Every number inserted with a hash is among the candidates of that hash. Others may be: the caller compares keys, so
//     that equal hashes never merge two things.
//
// It costs 8 bytes a number for the hash and 11 to 21 for the slots. Growth doubles the slots at a fill of 3/4. It is
// not safe for concurrent use.
package dense
