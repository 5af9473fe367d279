package idset

// Set is two generations of ids. Its zero value is empty and ready.
type Set struct {
	current, previous table
	sink              uint64 // keeps the compiler from dropping the touching loads
}

// Len is the number of ids in the current and in the previous generation.
func (s *Set) Len() (current, previous int) { return s.current.n, s.previous.n }

// Bytes is the memory of both generations.
func (s *Set) Bytes() int { return 8 * (s.current.slots() + s.previous.slots()) }

// Has says whether one of the generations holds id. With rotated it answers for after a Rotate.
func (s *Set) Has(id uint64, rotated bool) bool {
	return s.current.has(id) || !rotated && s.previous.has(id)
}

// stride is how many ids are touched before they are probed: enough to keep the memory busy, few enough to stay in
// the first-level cache.
const stride = 64

// Insert puts ids into the current generation, sets seen[i] to whether ids[i] was in the set before, the ids before it
// included, and appends to fresh those that the current generation did not hold. len(seen) >= len(ids).
func (s *Set) Insert(ids []uint64, seen []bool, fresh []uint64) []uint64 {
	for len(ids) > 0 {
		n := min(stride, len(ids))
		s.touch(ids[:n])
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

func (s *Set) touch(ids []uint64) {
	var x uint64
	for _, id := range ids {
		x ^= s.current.touch(id)
	}
	if s.previous.n > 0 {
		for _, id := range ids {
			x ^= s.previous.touch(id)
		}
	}
	s.sink ^= x
}

// Restore puts id back into the current generation, or into the previous one, and says whether that did not hold it.
func (s *Set) Restore(id uint64, previous bool) bool {
	if previous {
		return s.previous.insert(id)
	}
	return s.current.insert(id)
}

// Rotate forgets the previous generation, makes the current one the previous and begins an empty one.
func (s *Set) Rotate() {
	s.current, s.previous = s.previous, s.current
	s.current.reset(2 * s.previous.n)
}
