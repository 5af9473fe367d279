package jobqueue

import "slices"

// agent is an agent that is up.
type agent struct {
	name    string
	has     vector   // resources that it declared
	list    []uint32 // the same
	learned []uint32 // resources that it is associated with and did not declare, last used last
	match   vector   // signatures of which it has all required resources
	local   vector   // signatures of which it has a preferred resource, declared or learned
	slots   int      // jobs at a time; 0: any number
	running int
	avoid   []avoided
}

// avoided is an entry of an agent's blacklist.
type avoided struct {
	id    ID
	until int64 // Unix ms
}

// maxAvoid limits the blacklist of an agent. The oldest entry is dropped.
const maxAvoid = 64

// Profile returns the profile of an agent that is up. Its resources are sorted, each once.
func (q *Queue) Profile(agent string) (p Profile, up bool) {
	n, up := q.byName[agent]
	if !up {
		return p, false
	}
	a := q.agents[n]
	return Profile{Has: q.sigs.namesOf(a.list), Slots: a.slots}, true
}

// knows reports whether a is associated with a resource.
func (a *agent) knows(resource uint32) bool {
	return a.has.has(resource) || slices.Contains(a.learned, resource)
}

// see sets what a new signature is to a.
func (a *agent) see(s *signatures, n uint32) {
	row := &s.rows[n]
	if !slices.ContainsFunc(row.require, func(r uint32) bool { return !a.has.has(r) }) {
		a.match.set(n)
	}
	if slices.ContainsFunc(row.prefer, a.knows) {
		a.local.set(n)
	}
}

// forget removes a signature.
func (a *agent) forget(n uint32) {
	a.match.clear(n)
	a.local.clear(n)
}

// compile computes the vectors of a from the inverted lists: all signatures AND NOT those that
// require a resource that the agent lacks.
func (a *agent) compile(s *signatures) {
	a.match, a.local = nil, nil
	var lacks vector
	for r, list := range s.require {
		if !a.has.has(uint32(r)) {
			lacks.or(list)
		}
	}
	for n := range s.rows {
		if s.rows[n].key != "" && !lacks.has(uint32(n)) {
			a.match.set(uint32(n))
		}
	}
	for _, r := range slices.Concat(a.list, a.learned) {
		a.local.or(s.prefer[r])
	}
}

// use marks the preferred resources of a signature as used. If learn is true, it associates the
// agent with those that are new to it, and drops the least recently used ones beyond most.
func (a *agent) use(s *signatures, n uint32, learn bool, most int) {
	for _, r := range s.rows[n].prefer {
		if a.has.has(r) {
			continue
		}
		i := slices.Index(a.learned, r)
		switch {
		case i >= 0:
			a.learned = append(slices.Delete(a.learned, i, i+1), r)
		case learn:
			a.learned = append(a.learned, r)
			s.claim(r, 1)
			a.local.or(s.prefer[r])
		}
	}
	if drop := len(a.learned) - most; drop > 0 {
		for _, r := range a.learned[:drop] {
			s.claim(r, -1)
		}
		a.learned = slices.Delete(a.learned, 0, drop)
		a.local = nil
		for _, r := range slices.Concat(a.list, a.learned) {
			a.local.or(s.prefer[r])
		}
	}
}

// leave removes all associations of a.
func (a *agent) leave(s *signatures) {
	for _, r := range slices.Concat(a.list, a.learned) {
		s.claim(r, -1)
	}
}

// avoids reports whether a job is on the blacklist of a.
func (a *agent) avoids(id ID, nowMs int64) bool {
	return slices.ContainsFunc(a.avoid, func(x avoided) bool { return x.id == id && x.until > nowMs })
}

// block puts a job on the blacklist of a.
func (a *agent) block(id ID, nowMs, until int64) {
	a.avoid = slices.DeleteFunc(a.avoid, func(x avoided) bool { return x.id == id || x.until <= nowMs })
	a.avoid = append(a.avoid, avoided{id, until})
	if len(a.avoid) > maxAvoid {
		a.avoid = slices.Delete(a.avoid, 0, 1)
	}
}
