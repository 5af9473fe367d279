package idset

const (
	partBits = 6
	parts    = 1 << partBits
	minSlots = 16
)

// part is one open-addressing table with linear probing; 0 marks a free slot.
type part struct {
	slots []uint64 // a power of two of them
	n     int
}

// table is one generation: 64 parts chosen by an id's top bits, which the slot within a part does not use.
type table struct {
	parts [parts]part
	n     int
	zero  bool // holds the id 0, which no slot can
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

// insert adds id and says whether it was new.
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

// touch loads the cache line where id would be. The loads of neighbouring ids do not wait for each other.
func (t *table) touch(id uint64) uint64 {
	p := &t.parts[id>>(64-partBits)]
	if len(p.slots) == 0 {
		return 0
	}
	return p.slots[id&uint64(len(p.slots)-1)]
}

// reset empties t, keeping the parts that hold about as many ids as like says.
func (t *table) reset(like int) {
	for i := range t.parts {
		p := &t.parts[i]
		if len(p.slots) > minSlots && len(p.slots)*parts > 4*like {
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
