package jobqueue

import "slices"

// Selector selects jobs in segments that are not closed. A job must meet all conditions that are
// set.
type Selector struct {
	State    State  // None: any
	Group    string // empty: any
	Resource string // required or preferred by the job; empty: any
	After    ID     // with Page: the id after which to continue
	Page     bool
	Limit    int // jobs at most; 0: all
}

// Select returns the jobs of s in ascending order: the literal AND of the seed, on the vectors of
// states and groups and on the inverted lists. It takes time in proportion to the vectors, so it is
// for requests of people, and for bulk requests, which call Cancel or Redo for each job.
func (q *Queue) Select(s *Selector) (ids []ID) {
	q.selected(s, func(id ID) { ids = append(ids, id) })
	return ids
}

// Count returns the number of jobs of s.
func (q *Queue) Count(s *Selector) (n int) {
	q.selected(s, func(ID) { n++ })
	return n
}

// selected calls fn for the jobs of s, in ascending order.
func (q *Queue) selected(s *Selector, fn func(ID)) {
	var with vector
	if s.Resource != "" {
		r, ok := q.sigs.numbers[s.Resource]
		if !ok {
			return
		}
		with.or(q.sigs.require[r])
		with.or(q.sigs.prefer[r])
	}
	from := ID(0)
	if s.Page {
		from = s.After + 1
	}
	found := 0
	add := func(id ID) bool {
		if s.Resource != "" {
			if sig, _ := q.class(id); !with.has(sig) {
				return true
			}
		}
		found++
		fn(id)
		return s.Limit == 0 || found < s.Limit
	}
	if s.Group == "" {
		q.matrix.each(s.State, from, add)
		return
	}
	g := q.groups[s.Group]
	if g == nil {
		return
	}
	it := g.Iterator()
	for it.AdvanceIfNeeded(uint64(from)); it.HasNext(); {
		id := ID(it.Next())
		if (s.State == None || q.matrix.state(id) == s.State) && !add(id) {
			break
		}
	}
}

// Groups returns the names of groups with jobs that are not evicted, in ascending order.
func (q *Queue) Groups() []string {
	var names []string
	for name := range q.groups {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// GroupCounts returns the number of a group's jobs by state, without those of closed segments.
func (q *Queue) GroupCounts(group string) (n [8]uint64) {
	if g := q.groups[group]; g != nil {
		for it := g.Iterator(); it.HasNext(); {
			n[q.matrix.state(ID(it.Next()))]++
		}
	}
	return n
}
