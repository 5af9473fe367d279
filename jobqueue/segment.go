package jobqueue

import (
	"math"
	"math/bits"
	"sync/atomic"
)

// SegmentSize is the number of ids of a segment. Segments begin at multiples of it.
const SegmentSize = segmentSize

const (
	segmentBits = 16
	segmentSize = 1 << segmentBits // ids
	perWord     = 16               // states in a word
	// maxStep limits the distance of an id to the last one, and so the growth of the directory.
	maxStep = 1 << 38
	// sinceRange is how far back times of pending jobs are kept when a base is raised, in ms: 45
	// days, more than the longest MaxPendingWait.
	sinceRange = 45 * 24 * 3600 * 1000
)

// matrix is the state machines of all jobs, as the seed's bit matrix: one bit vector per state, for
// everything that is about many jobs. Beside it, an array of 4 bits per job answers what is about
// one job, also to readers on other goroutines.
type matrix struct {
	counts  [states]uint64         // with evicted jobs; None is not counted
	flows   [states][states]uint64 // number of changes, by state before and after
	dir     atomic.Pointer[directory]
	newest  uint64 // number of the last segment
	changed *changes
}

// directory has the segments, from the one with number first on.
type directory struct {
	first uint64
	segs  []atomic.Pointer[segment]
}

// segment is 65,536 consecutive ids. It is closed when all its jobs have ended and are evicted. A
// closed segment never changes.
type segment struct {
	open   *columns // nil if it is closed
	closed *finals
}

// columns are the attributes of the jobs of an open segment, by position.
type columns struct {
	states  [segmentSize / perWord]atomic.Uint64 // written by one goroutine, read by any
	vectors [states]*bitVector                   // one bit per job that is in the state; nil if empty
	class   []uint32                             // signature << 4 | priority
	since   []uint32                             // time at which the job became Pending, ms after base
	attempt []uint8                              // last attempt; nil before the first one in the segment
	base    int64                                // Unix ms; see setSince
	live    int                                  // jobs that have not ended
	keyed   []keyed
	groups  []string // that have jobs in the segment
}

// bitVector has a bit for each position of a segment.
type bitVector [segmentSize / 64]uint64

// keyed is the idempotency key of a job.
type keyed struct {
	id  ID
	key string
}

// segment returns the segment of id, nil without one.
func (m *matrix) segment(id ID) *segment {
	d := m.dir.Load()
	if d == nil {
		return nil
	}
	n := uint64(id)>>segmentBits - d.first // wraps around if it is before the first
	if n >= uint64(len(d.segs)) {
		return nil
	}
	return d.segs[n].Load()
}

// state returns the state of id. Any goroutine may call it.
func (m *matrix) state(id ID) State {
	s := m.segment(id)
	at := uint32(id % segmentSize)
	switch {
	case s == nil:
		return None
	case s.open != nil:
		return State(s.open.states[at/perWord].Load() >> (at % perWord * 4) & 15)
	}
	return s.closed.state(uint16(at))
}

// columns returns the columns of the open segment of id and the position of id.
func (m *matrix) columns(id ID) (*columns, uint32) {
	return m.segment(id).open, uint32(id % segmentSize)
}

// make returns the columns of the segment of a new id. A missing segment is made.
func (m *matrix) make(id ID, nowMs int64) *columns {
	number := uint64(id) >> segmentBits
	d := m.dir.Load()
	if d == nil {
		d = &directory{first: number}
	}
	if at := int(number - d.first); at >= len(d.segs) {
		bigger := &directory{first: d.first, segs: make([]atomic.Pointer[segment], at+1+at/4)}
		for i := range d.segs {
			bigger.segs[i].Store(d.segs[i].Load())
		}
		d = bigger
		m.dir.Store(d)
	}
	p := &d.segs[number-d.first]
	if p.Load() == nil {
		if last := m.segment(ID(m.newest << segmentBits)); last != nil && last.open != nil && last.open.live == 0 {
			last.open.shrink()
		}
		m.newest = number
		m.changed.segment(id)
		p.Store(&segment{open: &columns{base: nowMs}})
	}
	return p.Load().open
}

// add gives a new job its class.
func (c *columns) add(at, class uint32) {
	for n := len(c.class); n <= int(at); n = len(c.class) {
		c.class = grown(c.class, at)
		c.since = grown(c.since, at)
	}
	c.class[at] = class
}

// grown returns s with a length of more than at. It doubles the memory, to segmentSize at most.
func grown[T any](s []T, at uint32) []T {
	if int(at) < cap(s) {
		return s[:at+1]
	}
	bigger := make([]T, at+1, min(segmentSize, max(64, 2*int(at+1))))
	copy(bigger, s)
	return bigger
}

func (c *columns) attemptOf(at uint32) uint8 {
	if int(at) < len(c.attempt) {
		return c.attempt[at]
	}
	return 0
}

func (c *columns) setAttempt(at uint32, n uint8) {
	if int(at) >= len(c.attempt) {
		c.attempt = grown(c.attempt, at)
	}
	c.attempt[at] = n
}

func (c *columns) sinceOf(at uint32) int64 { return c.base + int64(c.since[at]) }

// setSince sets the time at which a job became Pending. A segment may be open for longer than the
// 49.7 days that since can hold: then the base is raised, and the result is true.
func (c *columns) setSince(at uint32, ms int64) (raised bool) {
	if raised = ms-c.base > math.MaxUint32; raised {
		c.rebase(ms - sinceRange)
	}
	c.since[at] = uint32(max(ms-c.base, 0))
	return raised
}

// rebase raises the base. Times before the new base become the base. They were at least sinceRange
// ago, so a job that is pending since then is starving with either time.
func (c *columns) rebase(base int64) {
	by := base - c.base
	for i, x := range c.since {
		c.since[i] = uint32(max(int64(x)-by, 0))
	}
	c.base = base
}

// move changes the state of id. A reader sees the state before or after, never another one.
func (m *matrix) move(id ID, from, to State) {
	c, at := m.columns(id)
	w, shift := &c.states[at/perWord], at%perWord*4
	w.Store(w.Load()&^(15<<shift) | uint64(to)<<shift)
	if from != None {
		c.vectors[from][at/64] &^= 1 << (at % 64)
		m.counts[from]--
	}
	if c.vectors[to] == nil {
		c.vectors[to] = &bitVector{}
	}
	c.vectors[to][at/64] |= 1 << (at % 64)
	m.counts[to]++
	m.flows[from][to]++
	if from == None || from.Terminal() {
		c.live++
	}
	if to.Terminal() {
		if c.live--; c.live == 0 && uint64(id)>>segmentBits < m.newest {
			c.shrink()
		}
	}
}

// shrink frees the vectors of states in which no job is, as all have ended.
func (c *columns) shrink() {
	c.vectors[Delayed], c.vectors[Blocked], c.vectors[Pending], c.vectors[Running] = nil, nil, nil, nil
}

// each calls f for the jobs in state s in open segments, from an id on in ascending order, until f
// returns false. None stands for all states.
func (m *matrix) each(s State, from ID, f func(ID) bool) {
	d := m.dir.Load()
	if d == nil {
		return
	}
	for i := range d.segs {
		first := ID((d.first + uint64(i)) << segmentBits)
		seg := d.segs[i].Load()
		if seg == nil || seg.open == nil || first+segmentSize <= from {
			continue
		}
		for w := range len(bitVector{}) {
			for x := seg.open.word(s, w); x != 0; x &= x - 1 {
				id := first + ID(w<<6|bits.TrailingZeros64(x))
				if id >= from && !f(id) {
					return
				}
			}
		}
	}
}

// word returns a word of the vector of a state, of all states for None.
func (c *columns) word(s State, i int) (w uint64) {
	for n, v := range c.vectors {
		if v != nil && (s == None || int(s) == n) {
			w |= v[i]
		}
	}
	return w
}

// close replaces an open segment by the final states of its jobs.
func (m *matrix) close(number uint64) {
	d := m.dir.Load()
	p := &d.segs[number-d.first]
	c := p.Load().open
	var others [3][]uint16
	for at := range uint32(segmentSize) {
		s := State(c.states[at/perWord].Load() >> (at % perWord * 4) & 15)
		for i, other := range finalStates() {
			if s == other {
				others[i] = append(others[i], uint16(at))
			}
		}
	}
	p.Store(&segment{closed: newFinals(others)})
	m.changed.segment(ID(number << segmentBits))
}
