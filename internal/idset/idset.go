package idset

// Set is a set of ids in two generations. Its zero value is an empty set.
type Set struct {
	current, previous table
	sink              uint64 // uses the loads of prefetch, or the compiler would remove them
}

// Len returns the numbers of ids in the current and in the previous generation.
func (s *Set) Len() (current, previous int) { return s.current.n, s.previous.n }

// Bytes returns the memory of both generations.
func (s *Set) Bytes() int { return 8 * (s.current.slots() + s.previous.slots()) }

// Has reports whether one of the generations contains id. If rotated is true, it reports whether
// the set would contain id after a Rotate.
func (s *Set) Has(id uint64, rotated bool) bool {
	return s.current.has(id) || !rotated && s.previous.has(id)
}

// batch is the number of ids that are prefetched before they are inserted: enough for parallel
// memory loads, and few enough to stay in the L1 cache.
const batch = 64

// Insert inserts ids into the current generation. It sets seen[i] to whether the set contained
// ids[i] before, which includes the preceding ids of the call. It appends the ids that the current
// generation did not contain to fresh and returns the result. seen must be at least as long as ids.
func (s *Set) Insert(ids []uint64, seen []bool, fresh []uint64) []uint64 {
	for len(ids) > 0 {
		n := min(batch, len(ids))
		s.prefetch(ids[:n])
		for i, id := range ids[:n] {
			if s.current.insert(id) {
				fresh = append(fresh, id)
				seen[i] = s.previous.n > 0 && s.previous.has(id)
			} else {
				seen[i] = true
			}
		}
		ids, seen = ids[n:], seen[n:]
	}
	return fresh
}

// prefetch loads the cache lines of ids.
func (s *Set) prefetch(ids []uint64) {
	var x uint64
	for _, id := range ids {
		x ^= s.current.prefetch(id)
	}
	if s.previous.n > 0 {
		for _, id := range ids {
			x ^= s.previous.prefetch(id)
		}
	}
	s.sink ^= x
}

// Restore inserts id into the current or the previous generation, to rebuild the set. It reports
// whether the generation did not contain id.
func (s *Set) Restore(id uint64, previous bool) bool {
	if previous {
		return s.previous.insert(id)
	}
	return s.current.insert(id)
}

// Rotate drops the previous generation, makes the current generation the previous one and starts an
// empty current generation.
func (s *Set) Rotate() {
	s.current, s.previous = s.previous, s.current
	s.current.reset(2 * s.previous.n)
}
