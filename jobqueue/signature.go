package jobqueue

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// signatures numbers the requirement signatures of jobs. A signature is the canonical form of what
// a job requires and prefers. Jobs with equal signatures are equal to every agent, so the seed's
// inverted lists are over signatures: a queue has few of them, and millions of jobs.
type signatures struct {
	max     int
	numbers map[string]uint32 // of resources
	names   []string          // of resources
	require []vector          // by resource: the signatures that require it
	prefer  []vector          // by resource: the signatures that prefer it
	claims  []int             // by resource: live agents that are associated with it

	byKey map[string]uint32 // canonical form: number
	rows  []signature
	free  []uint32 // numbers of signatures that were removed
	means []int64  // by signature: mean run time in ms, 0 if unknown
	open  vector   // signatures without preferences
	taken vector   // signatures of which an agent is associated with a preferred resource
	key   []byte
}

// signature is a row of signatures.
type signature struct {
	key             string
	require, prefer []uint32 // resources
	claimed         int      // preferred resources with claims
	jobs            int      // jobs in open segments
}

func newSignatures(most int) *signatures {
	return &signatures{max: most, numbers: map[string]uint32{}, byKey: map[string]uint32{}}
}

// room returns an error if the resources of lists would be too many.
func (s *signatures) room(lists ...[]string) error {
	var added []string
	for _, names := range lists {
		for _, n := range names {
			if _, ok := s.numbers[n]; !ok {
				added = append(added, n)
			}
		}
	}
	slices.Sort(added)
	added = slices.Compact(added)
	if len(added) > 0 && len(s.names)+len(added) > s.max {
		return fmt.Errorf("%w resource names: the queue would have %d, more than its limit of %d: use fewer different names, or raise MaxResources",
			ErrInvalid, len(s.names)+len(added), s.max)
	}
	return nil
}

// resource returns the number of a resource.
func (s *signatures) resource(name string) uint32 {
	if n, ok := s.numbers[name]; ok {
		return n
	}
	n := uint32(len(s.names))
	s.numbers[name] = n
	s.names = append(s.names, name)
	s.require, s.prefer, s.claims = append(s.require, nil), append(s.prefer, nil), append(s.claims, 0)
	return n
}

// intern returns the number of the signature of a job, and whether it is new.
func (s *signatures) intern(require, prefer []string) (number uint32, added bool) {
	require, prefer = canonical(require), canonical(prefer)
	s.key = binary.AppendUvarint(s.key[:0], uint64(len(require)))
	for _, list := range [2][]string{require, prefer} {
		for _, name := range list {
			s.key = append(binary.AppendUvarint(s.key, uint64(len(name))), name...)
		}
	}
	if n, ok := s.byKey[string(s.key)]; ok {
		return n, false
	}
	if last := len(s.free) - 1; last >= 0 {
		number, s.free = s.free[last], s.free[:last]
	} else {
		number = uint32(len(s.rows))
		s.rows, s.means = append(s.rows, signature{}), append(s.means, 0)
	}
	row := signature{key: string(s.key)}
	s.byKey[row.key] = number
	for _, name := range require {
		r := s.resource(name)
		row.require = append(row.require, r)
		s.require[r].set(number)
	}
	for _, name := range prefer {
		r := s.resource(name)
		row.prefer = append(row.prefer, r)
		s.prefer[r].set(number)
		if s.claims[r] > 0 {
			row.claimed++
		}
	}
	if len(row.prefer) == 0 {
		s.open.set(number)
	}
	if row.claimed > 0 {
		s.taken.set(number)
	}
	s.rows[number], s.means[number] = row, 0
	return number, true
}

// remove removes a signature without jobs. Its number will be used again.
func (s *signatures) remove(number uint32) {
	row := &s.rows[number]
	for _, r := range row.require {
		s.require[r] = s.require[r].without(number)
	}
	for _, r := range row.prefer {
		s.prefer[r] = s.prefer[r].without(number)
	}
	s.open.clear(number)
	s.taken.clear(number)
	delete(s.byKey, row.key)
	s.rows[number] = signature{}
	s.free = append(s.free, number)
}

// claim adds d to the number of agents that are associated with a resource.
func (s *signatures) claim(resource uint32, d int) {
	before := s.claims[resource] > 0
	s.claims[resource] += d
	after := s.claims[resource] > 0
	if before == after {
		return
	}
	s.prefer[resource].each(func(n uint32) {
		row := &s.rows[n]
		if after {
			row.claimed++
		} else {
			row.claimed--
		}
		if row.claimed > 0 {
			s.taken.set(n)
		} else {
			s.taken.clear(n)
		}
	})
}

// learn updates the mean run time of a signature: a moving average in integers, equal everywhere.
func (s *signatures) learn(number uint32, ms int64) {
	if mean := &s.means[number]; *mean == 0 {
		*mean = max(1, ms)
	} else {
		*mean = max(1, *mean+(ms-*mean)/8)
	}
}

func (s *signatures) namesOf(resources []uint32) []string {
	var names []string
	for _, r := range resources {
		names = append(names, s.names[r])
	}
	slices.Sort(names)
	return names
}
