package dense

// None is the number of nothing.
const None = ^uint32(0)

const minSlots = 64

// Table maps hashes to numbers. Its zero value is empty and ready.
type Table struct {
	slots  []uint64 // upper half of the hash << 32 | number + 1; 0 = free
	hashes []uint64 // by number
}

// Cursor is a place in the walk over a hash's candidates.
type Cursor struct{ slot, tag uint64 }

// Len is the number of numbers given.
func (t *Table) Len() int { return len(t.hashes) }

// Hash is the hash that number n was inserted with.
func (t *Table) Hash(n uint32) uint64 { return t.hashes[n] }

// Bytes is the memory held.
func (t *Table) Bytes() int { return 8*len(t.slots) + 8*cap(t.hashes) }

// Touch loads the cache line where the walk of hash begins. The loads of neighbouring hashes do not wait for each other.
func (t *Table) Touch(hash uint64) uint64 {
	if len(t.slots) == 0 {
		return 0
	}
	return t.slots[hash&uint64(len(t.slots)-1)]
}

// First begins the walk over the candidates of hash; None = there is none.
func (t *Table) First(hash uint64) (uint32, Cursor) {
	return t.Next(Cursor{slot: hash, tag: hash >> 32})
}

// Next goes on with the walk; None = there is no further candidate.
func (t *Table) Next(c Cursor) (uint32, Cursor) {
	if len(t.slots) == 0 {
		return None, c
	}
	mask := uint64(len(t.slots) - 1)
	for {
		s := t.slots[c.slot&mask]
		c.slot++
		if s == 0 {
			return None, c
		}
		if s>>32 == c.tag {
			return uint32(s) - 1, c
		}
	}
}

// Insert gives the next number to hash. It does not look whether hash has one already.
func (t *Table) Insert(hash uint64) uint32 {
	if 4*len(t.hashes) >= 3*len(t.slots) {
		t.grow(max(minSlots, 2*len(t.slots)))
	}
	n := uint32(len(t.hashes))
	t.hashes = append(t.hashes, hash)
	t.put(hash, n)
	return n
}

func (t *Table) put(hash uint64, n uint32) {
	mask := uint64(len(t.slots) - 1)
	i := hash & mask
	for t.slots[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = hash>>32<<32 | uint64(n+1)
}

func (t *Table) grow(slots int) {
	t.slots = make([]uint64, slots)
	for n, h := range t.hashes {
		t.put(h, uint32(n))
	}
}

// Reset forgets everything and makes room for n numbers.
func (t *Table) Reset(n int) {
	slots := minSlots
	for 3*slots < 4*n {
		slots *= 2
	}
	t.hashes = make([]uint64, 0, n)
	t.slots = make([]uint64, slots)
}
