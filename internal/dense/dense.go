package dense

// None stands for no number.
const None = ^uint32(0)

const minSlots = 64

// Table maps hashes to numbers. Its zero value is an empty table.
type Table struct {
	slots  []uint64 // upper half of the hash << 32 | number + 1; 0 is a free slot
	hashes []uint64 // by number
}

// Cursor is a position in the iteration over the candidates of a hash.
type Cursor struct{ slot, tag uint64 }

// Len returns how many numbers were assigned.
func (t *Table) Len() int { return len(t.hashes) }

// Hash returns the hash that number n was inserted with.
func (t *Table) Hash(n uint32) uint64 { return t.hashes[n] }

// Bytes returns the memory of the table.
func (t *Table) Bytes() int { return 8*len(t.slots) + 8*cap(t.hashes) }

// Prefetch loads the cache line in which the iteration over the candidates of hash begins. The
// processor executes the loads of several hashes in parallel. The result only keeps the compiler
// from removing the load.
func (t *Table) Prefetch(hash uint64) uint64 {
	if len(t.slots) == 0 {
		return 0
	}
	return t.slots[hash&uint64(len(t.slots)-1)]
}

// First returns the first candidate of hash, None without one, and a cursor for Next.
func (t *Table) First(hash uint64) (uint32, Cursor) {
	return t.Next(Cursor{slot: hash, tag: hash >> 32})
}

// Next returns the next candidate, None after the last.
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

// Insert assigns the next number to hash. It does not check whether hash has a number already.
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

// Reset removes all numbers and allocates memory for n numbers.
func (t *Table) Reset(n int) {
	slots := minSlots
	for 3*slots < 4*n {
		slots *= 2
	}
	t.hashes = make([]uint64, 0, n)
	t.slots = make([]uint64, slots)
}
