package jobqueue

// States are the states of the jobs of a queue for readers on other goroutines, as of the last
// Take. A caller that commits the deltas of a queue takes their changes when they have committed.
// It takes half a byte for a job in an open segment, as the queue itself does, and shares the
// closed ones.
type States struct{ m matrix }

// States returns the present states.
func (q *Queue) States() *States {
	s := &States{}
	d := q.matrix.dir.Load()
	if d == nil {
		return s
	}
	for i := range d.segs {
		first := ID((d.first + uint64(i)) << segmentBits)
		switch seg := d.segs[i].Load(); {
		case seg == nil:
		case seg.open == nil:
			s.close(first, seg.closed)
		default:
			c := s.m.make(first, 0)
			for w := range c.states {
				c.states[w].Store(seg.open.states[w].Load())
			}
		}
	}
	return s
}

// State returns the state of a job, None if there is no such job. It is safe for concurrent use
// with all methods.
func (s *States) State(id ID) State { return s.m.state(id) }

// Changes are the states of a delta.
type Changes struct {
	jobs   []changedState
	closed []closedSegment
}

// changedState is the state of a job.
type changedState struct {
	id    ID
	state State
}

// closedSegment is a segment that was closed.
type closedSegment struct {
	first  ID
	finals *finals
}

// Changes returns the states of a delta, which must be the last one of the queue.
func (q *Queue) Changes(d *Delta) (c Changes) {
	for i := range d.Jobs {
		c.jobs = append(c.jobs, changedState{d.Jobs[i].ID, d.Jobs[i].State})
	}
	for i := range d.Segments {
		if first := d.Segments[i].First; d.Segments[i].Closed {
			c.closed = append(c.closed, closedSegment{first, q.matrix.segment(first).closed})
		}
	}
	return c
}

// Take takes changes, in the order of the deltas. One goroutine calls it at a time.
func (s *States) Take(c Changes) {
	for i := range c.jobs {
		s.set(c.jobs[i].id, c.jobs[i].state)
	}
	for i := range c.closed {
		s.close(c.closed[i].first, c.closed[i].finals)
	}
}

// set sets the state of a job in a segment that is not closed.
func (s *States) set(id ID, to State) {
	c := s.m.make(id, 0)
	at := uint32(id % segmentSize)
	w, shift := &c.states[at/perWord], at%perWord*4
	w.Store(w.Load()&^(15<<shift) | uint64(to)<<shift)
}

// close sets the states of a segment for good.
func (s *States) close(first ID, f *finals) {
	s.m.make(first, 0)
	d := s.m.dir.Load()
	d.segs[uint64(first)>>segmentBits-d.first].Store(&segment{closed: f})
}
