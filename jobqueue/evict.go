package jobqueue

import "math/bits"

// Evictable returns a bound for Evict: the begin of the first open segment in which a job has not
// ended or for which ok returns false. It returns 0 if that is the first open segment. ok gets the
// first ids of segments in which all jobs have ended, in ascending order.
func (q *Queue) Evictable(ok func(first ID) bool) (before ID) {
	d := q.matrix.dir.Load()
	if d == nil {
		return 0
	}
	for number := max(q.closed, d.first); number < q.matrix.newest; number++ {
		first := ID(number << segmentBits)
		switch s := q.matrix.segment(first); {
		case s == nil || s.open == nil:
		case s.open.live > 0 || first < q.gone || !ok(first): // below gone, others wait for one of its jobs
			return before
		default:
			before = first + segmentSize
		}
	}
	return before
}

// Segment returns the row of a segment, by its first id: one that a Delta or a Snapshot has had.
func (q *Queue) Segment(first ID) SegmentRow { return q.matrix.row(first) }

// evict closes the segments below before in which all jobs have ended.
func (q *Queue) evict(before ID) {
	q.gone = max(q.gone, before)
	d := q.matrix.dir.Load()
	q.closed = max(q.closed, d.first)
	for number := q.closed; number < uint64(before)>>segmentBits; number++ {
		q.close(ID(number << segmentBits))
		if s := q.matrix.segment(ID(number << segmentBits)); number == q.closed && (s == nil || s.open == nil) {
			q.closed++
		}
	}
}

// close closes the segment of a job if it is below the bound of Evict and all its jobs have ended,
// unless a job that can be redone is awaited.
func (q *Queue) close(id ID) {
	number := uint64(id) >> segmentBits
	first := ID(number << segmentBits)
	s := q.matrix.segment(first)
	if first >= q.gone || s == nil || s.open == nil || s.open.live > 0 || q.holds(first, s.open) {
		return
	}
	c := s.open
	for at, class := range c.class {
		if q.matrix.state(first+ID(at)) != None {
			q.drop(class >> 4)
		}
	}
	for _, k := range c.keyed {
		delete(q.keys, k.key)
	}
	for _, name := range c.groups {
		g := q.groups[name]
		if g.RemoveRange(uint64(first), uint64(first)+segmentSize); g.IsEmpty() {
			delete(q.groups, name)
		}
	}
	q.matrix.close(number)
}

// holds reports whether a job of an open segment, in which all have ended, is awaited and not Done.
// Such a job can be redone.
func (q *Queue) holds(first ID, c *columns) bool {
	if len(q.waits) == 0 {
		return false
	}
	for _, s := range []State{Failed, Canceled} {
		for i := range len(bitVector{}) {
			for w := c.word(s, i); w != 0; w &= w - 1 {
				if q.awaited(first + ID(i<<6|bits.TrailingZeros64(w))) {
					return true
				}
			}
		}
	}
	return false
}

// drop takes a job from its signature, and removes a signature without jobs.
func (q *Queue) drop(sig uint32) {
	row := &q.sigs.rows[sig]
	if row.jobs--; row.jobs > 0 {
		return
	}
	q.changed.drop(q.sigs, sig)
	q.sigs.remove(sig)
	q.monitor.forget(sig)
	for _, a := range q.agents {
		if a != nil {
			a.forget(sig)
		}
	}
}
