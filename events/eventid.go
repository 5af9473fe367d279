package events

import "github.com/cespare/xxhash/v2"

// EventHash returns the 64-bit identity of an event in the set of seen events: a hash of the
// account and of the event id within the account. The two are hashed separately (xxHash64, seed 0),
// so that the boundary between them counts: ("ab", "c") differs from ("a", "bc"). The hashes have
// unequal weights, so ("ab", "c") differs from ("c", "ab").
//
// Two of the billions of events in a duplicate window may collide: with n live ids, the next event
// is taken for a duplicate with probability n / 2^64. The hash has no secret key: a client that
// chooses event ids can make them collide, and gains no more from it than from sending one id
// twice. The hash is the same in all processes and releases.
func EventHash(account, eventID []byte) uint64 {
	// Both hashes are uniform. Multiplication by an odd number keeps a uniform hash uniform, and so
	// does the addition of another hash.
	return xxhash.Sum64(account)*0x9e3779b97f4a7c15 + xxhash.Sum64(eventID)
}
