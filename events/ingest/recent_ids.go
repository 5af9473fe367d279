package ingest

import "hash/maphash"

// recentIDsPerGeneration bounds the set to twice as many ids: about 200 MiB, for inputs that carry
// so many ids.
const recentIDsPerGeneration = 4 << 20

// recentIDs remembers the event ids of an input: the last generation of ids at least, the last two
// at most. It keeps 64-bit hashes under a random seed. One run in a million takes one of 8 million
// ids for another.
type recentIDs struct {
	generation int
	seed       maphash.Seed
	now, old   map[uint64]struct{}
}

// add adds an event's id and reports whether the set contained it.
func (r *recentIDs) add(account, id string) bool {
	key := r.key(account, id)
	if _, ok := r.now[key]; ok {
		return true
	}
	_, ok := r.old[key]
	if len(r.now) >= r.generation {
		r.now, r.old = map[uint64]struct{}{}, r.now
	}
	r.now[key] = struct{}{}
	return ok
}

// has reports whether the set contains an id.
func (r *recentIDs) has(account, id string) bool {
	key := r.key(account, id)
	_, now := r.now[key]
	_, old := r.old[key]
	return now || old
}

func (r *recentIDs) key(account, id string) uint64 {
	if r.now == nil {
		r.seed, r.now = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	var h maphash.Hash
	h.SetSeed(r.seed)
	h.WriteString(account)
	h.WriteByte(0) // no id contains it
	h.WriteString(id)
	return h.Sum64()
}
