package idset

// tagBits is the size of the tag: the low bits of an id.
const (
	tagBits = 4
	tagMask = 1<<tagBits - 1
)

// ID returns the id of a hash, of which it uses the upper 60 bits, with a fingerprint of value. It
// is never 0.
func ID(hash, value uint64) uint64 {
	if hash &^= tagMask; hash == 0 { // 0 marks free slots
		hash = 1 << tagBits
	}
	return hash | value*0x9e3779b97f4a7c15>>(64-tagBits)
}

// Same reports whether two ids have the same hash.
func Same(a, b uint64) bool { return (a^b)&^tagMask == 0 }

// Found is what a set contained before an insert.
type Found uint8

// The results of an insert.
const (
	New     Found = iota // the set did not contain the id
	Known                // the set contained the id with the same tag
	Differs              // the set contained the id with another tag
)

// batch is the number of ids that are prefetched before they are inserted: enough for parallel
// memory loads, and few enough to stay in the L1 cache.
const batch = 64

// Insert inserts each ids[i] into sets[i], and sets found[i] to what the set contained before,
// which includes the preceding ids of the call. A nil set contains nothing. sets and found must be
// at least as long as ids.
func Insert(sets []*Set, ids []uint64, found []Found) {
	for len(ids) > 0 {
		n := min(batch, len(ids))
		prefetch(sets[:n], ids[:n])
		for i, id := range ids[:n] {
			if s := sets[i]; s != nil {
				found[i] = s.Insert(id)
			} else {
				found[i] = New
			}
		}
		sets, ids, found = sets[n:], ids[n:], found[n:]
	}
}

// prefetch loads the cache lines of ids. The processor executes the loads in parallel.
func prefetch(sets []*Set, ids []uint64) {
	var x uint64
	for i, id := range ids {
		if s := sets[i]; s != nil {
			x ^= s.slot(id)
		}
	}
	if s := sets[len(sets)-1]; s != nil {
		s.sink ^= x
	}
}

const (
	partBits = 6
	parts    = 1 << partBits
	minSlots = 16
)

// part is a hash table with open addressing and linear probing.
type part struct {
	slots []uint64 // 0 is a free slot; the length is a power of two
	n     int
}

// Set is a set of ids. Its zero value is an empty set. The top bits of an id select one of 64
// parts, the low bits of its hash the slot.
type Set struct {
	parts [parts]part
	n     int
	sink  uint64 // uses the loads of prefetch, or the compiler would remove them
}

// Len returns the number of ids.
func (s *Set) Len() int { return s.n }

// Bytes returns the memory of the set.
func (s *Set) Bytes() (n int) {
	for i := range s.parts {
		n += 8 * len(s.parts[i].slots)
	}
	return n
}

// Has reports whether s contains id, with any tag.
func (s *Set) Has(id uint64) bool {
	p := &s.parts[id>>(64-partBits)]
	if len(p.slots) == 0 {
		return false
	}
	mask := uint64(len(p.slots) - 1)
	for i := id >> tagBits & mask; ; i = (i + 1) & mask {
		switch in := p.slots[i]; {
		case in == 0:
			return false
		case Same(in, id):
			return true
		}
	}
}

// Insert adds id and returns what the set contained before.
func (s *Set) Insert(id uint64) Found {
	p := &s.parts[id>>(64-partBits)]
	if 4*p.n >= 3*len(p.slots) {
		p.grow()
	}
	slots := p.slots
	mask := uint64(len(slots) - 1)
	for i := id >> tagBits & mask; ; i = (i + 1) & mask {
		switch in := slots[i&mask]; {
		case in == 0:
			slots[i&mask] = id
			p.n++
			s.n++
			return New
		case in == id:
			return Known
		case Same(in, id):
			return Differs
		}
	}
}

func (p *part) grow() {
	old := p.slots
	p.slots = make([]uint64, max(minSlots, 2*len(old)))
	mask := uint64(len(p.slots) - 1)
	for _, id := range old {
		if id == 0 {
			continue
		}
		i := id >> tagBits & mask
		for p.slots[i] != 0 {
			i = (i + 1) & mask
		}
		p.slots[i] = id
	}
}

// slot returns the slot at which the search for id begins, to load its cache line.
func (s *Set) slot(id uint64) uint64 {
	p := &s.parts[id>>(64-partBits)]
	if len(p.slots) == 0 {
		return 0
	}
	return p.slots[id>>tagBits&uint64(len(p.slots)-1)]
}

// Reset empties s. It keeps the memory of parts whose size fits a set of as many ids.
func (s *Set) Reset() {
	for i := range s.parts {
		p := &s.parts[i]
		if len(p.slots) > minSlots && len(p.slots)*parts > 8*s.n {
			p.slots = nil
		}
		clear(p.slots)
		p.n = 0
	}
	s.n = 0
}
