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
	var with vector
	if s.Resource != "" {
		r, ok := q.sigs.numbers[s.Resource]
		if !ok {
			return nil
		}
		with.or(q.sigs.require[r])
		with.or(q.sigs.prefer[r])
	}
	from := ID(0)
	if s.Page {
		from = s.After + 1
	}
	add := func(id ID) bool {
		if s.Resource != "" {
			if sig, _ := q.class(id); !with.has(sig) {
				return true
			}
		}
		ids = append(ids, id)
		return s.Limit == 0 || len(ids) < s.Limit
	}
	if s.Group == "" {
		q.matrix.each(s.State, from, add)
		return ids
	}
	g := q.groups[s.Group]
	if g == nil {
		return nil
	}
	it := g.Iterator()
	for it.AdvanceIfNeeded(uint64(from)); it.HasNext(); {
		id := ID(it.Next())
		if (s.State == None || q.matrix.state(id) == s.State) && !add(id) {
			break
		}
	}
	return ids
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
