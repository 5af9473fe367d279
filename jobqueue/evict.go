package jobqueue

// evict closes the segments below before in which all jobs have ended.
func (q *Queue) evict(before ID) {
	q.gone = max(q.gone, before)
	d := q.matrix.dir.Load()
	q.closed = max(q.closed, d.first)
	for number := q.closed; number < uint64(before)>>segmentBits; number++ {
		q.close(number)
		if s := q.matrix.segment(ID(number << segmentBits)); number == q.closed && (s == nil || s.open == nil) {
			q.closed++
		}
	}
}

// close closes a segment if all its jobs have ended.
func (q *Queue) close(number uint64) {
	first := ID(number << segmentBits)
	s := q.matrix.segment(first)
	if s == nil || s.open == nil || s.open.live > 0 {
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
	for name, g := range q.groups {
		if g.RemoveRange(uint64(first), uint64(first)+segmentSize); g.IsEmpty() {
			delete(q.groups, name)
		}
	}
	q.matrix.close(number)
}

// drop takes a job from its signature, and removes a signature without jobs.
func (q *Queue) drop(sig uint32) {
	row := &q.sigs.rows[sig]
	if row.jobs--; row.jobs > 0 {
		return
	}
	q.sigs.remove(sig)
	for _, a := range q.agents {
		if a != nil {
			a.forget(sig)
		}
	}
}
