package ingest

import "hash/maphash"

// seenPerGeneration bounds the set to twice as many ids, about 200 MiB, and only for inputs that carry that many.
const seenPerGeneration = 4 << 20

// seen remembers the event ids that an input carries: at least the last generation of them, at most two. It keeps 64-bit
// hashes under a random seed; that one of 8 million is taken for another happens in one run of a million. It feeds a
// figure for people: whether an event is charged is the counter's decision.
type seen struct {
	generation int
	seed       maphash.Seed
	now, old   map[uint64]struct{}
}

// before says whether it was asked for the same event before.
func (s *seen) before(account, id string) bool {
	if s.now == nil {
		s.seed, s.now = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	var h maphash.Hash
	h.SetSeed(s.seed)
	h.WriteString(account)
	h.WriteByte(0) // which no id may hold
	h.WriteString(id)
	key := h.Sum64()
	if _, ok := s.now[key]; ok {
		return true
	}
	_, ok := s.old[key]
	if len(s.now) >= s.generation {
		s.now, s.old = map[uint64]struct{}{}, s.now
	}
	s.now[key] = struct{}{}
	return ok
}
