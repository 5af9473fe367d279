package idset

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

// table is one generation. The top bits of an id select one of 64 parts, its low bits the slot.
type table struct {
	parts [parts]part
	n     int
	zero  bool // contains id 0, which marks free slots
}

func (t *table) has(id uint64) bool {
	if id == 0 {
		return t.zero
	}
	p := &t.parts[id>>(64-partBits)]
	if len(p.slots) == 0 {
		return false
	}
	mask := uint64(len(p.slots) - 1)
	for i := id & mask; ; i = (i + 1) & mask {
		switch p.slots[i] {
		case id:
			return true
		case 0:
			return false
		}
	}
}

// insert adds id and reports whether it was new.
func (t *table) insert(id uint64) bool {
	if id == 0 {
		return t.insertZero()
	}
	p := &t.parts[id>>(64-partBits)]
	if 4*p.n >= 3*len(p.slots) {
		p.grow()
	}
	slots := p.slots
	mask := uint64(len(slots) - 1)
	for i := id & mask; ; i = (i + 1) & mask {
		s := slots[i&mask]
		if s == id {
			return false
		}
		if s == 0 {
			slots[i&mask] = id
			p.n++
			t.n++
			return true
		}
	}
}

func (t *table) insertZero() bool {
	if t.zero {
		return false
	}
	t.zero = true
	t.n++
	return true
}

func (p *part) grow() {
	old := p.slots
	p.slots = make([]uint64, max(minSlots, 2*len(old)))
	mask := uint64(len(p.slots) - 1)
	for _, id := range old {
		if id == 0 {
			continue
		}
		i := id & mask
		for p.slots[i] != 0 {
			i = (i + 1) & mask
		}
		p.slots[i] = id
	}
}

// prefetch loads the cache line of id. The processor executes the loads of several ids in parallel.
func (t *table) prefetch(id uint64) uint64 {
	p := &t.parts[id>>(64-partBits)]
	if len(p.slots) == 0 {
		return 0
	}
	return p.slots[id&uint64(len(p.slots)-1)]
}

// reset empties t. It keeps the memory of parts whose size fits a table of n ids.
func (t *table) reset(n int) {
	for i := range t.parts {
		p := &t.parts[i]
		if len(p.slots) > minSlots && len(p.slots)*parts > 4*n {
			p.slots = nil
		}
		clear(p.slots)
		p.n = 0
	}
	t.n, t.zero = 0, false
}

func (t *table) slots() (n int) {
	for i := range t.parts {
		n += len(t.parts[i].slots)
	}
	return n
}
