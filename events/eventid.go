package events

import "github.com/cespare/xxhash/v2"

// Hash is the 64-bit identity of an event in the duplicate set: the hash of its id within its account. The two are
// hashed apart (xxHash64, seed 0), so that no boundary between them can be mistaken: ("ab", "c") differs from
// ("a", "bc"), and by the unequal weights from ("c", "ab").
//
// Two events of the billions in a window may collide; among n live ids the next one is taken for a duplicate with
// probability n / 2^64. The hash is not keyed: who can choose event ids can make them collide, but gains no more than by
// sending one id twice. It is stable across processes and releases.
func Hash(account, eventID []byte) uint64 {
	// Both halves are evenly spread already; an odd factor keeps one so, and so does adding the other.
	return xxhash.Sum64(account)*0x9e3779b97f4a7c15 + xxhash.Sum64(eventID)
}
