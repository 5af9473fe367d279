package model

import (
	"fmt"

	"github.com/weirhq/weir/internal/lease"
)

// fault is a violation that only the move itself shows.
type fault uint8

const (
	faultNone fault = iota
	faultStale
	faultStamp
)

// check returns which invariant w breaks, or "".
func (m *model) check(w world) string {
	switch w.fault {
	case faultStale:
		return "I18: a row is written in a region that has not seen its last version: one of the two writes will be lost"
	case faultStamp:
		return "I18: a row is written with an earlier time than its last write elsewhere: the write will be lost"
	case faultNone:
	}
	for r := range m.Resources {
		for at, id := range w.resources[r] {
			if row := m.rows.list[id]; at < len(m.Regions) && (row.Key != "") == (row.Available != 0) {
				return fmt.Sprintf("I9: %s is neither available nor leased, or both: %s", m.Resources[r].Name, tell(row))
			}
		}
	}
	for i := range m.Clients {
		for k := range int8(len(m.Keys)) {
			if m.using(w, i, k) {
				if broken := m.checkUse(w, i, k); broken != "" {
					return broken
				}
			}
		}
	}
	return ""
}

// checkUse looks at one key's resource in use by client i.
func (m *model) checkUse(w world, i int, k int8) string {
	mine := m.clients.list[w.clients[i]].holds[k]
	for j := range i {
		for l := range int8(len(m.Keys)) {
			if !m.using(w, j, l) {
				continue
			}
			other := m.clients.list[w.clients[j]].holds[l]
			switch {
			case k != l && mine.Resource == other.Resource:
				return fmt.Sprintf("I7: client %d uses %s for %s, client %d for %s", j+1, mine.Resource, m.Keys[l], i+1, m.Keys[k])
			case k == l && mine.Region == other.Region && mine.Resource != other.Resource:
				return fmt.Sprintf("I7r: for %s client %d uses %s and client %d %s", m.Keys[k], j+1, other.Resource, i+1, mine.Resource)
			}
		}
	}
	r := m.resource(mine.Resource)
	row := m.rows.list[w.resources[r][m.region(mine.Region)]]
	held := row.Key == m.Keys[k] && row.Expires >= mine.Expires
	released := row.Available >= mine.Expires+m.Quarantine && !w.liberated[r]
	if !held && !released && !m.Naive {
		return fmt.Sprintf("I17: client %d uses %s for %s until %d, but its row says: %s", i+1, mine.Resource, m.Keys[k], mine.Expires, tell(row))
	}
	return ""
}

// tell describes a row.
func tell(r lease.Row) string {
	s := fmt.Sprintf("version %d", r.Version)
	for _, a := range []struct {
		name  string
		value any
		there bool
	}{
		{"owner", r.Owner, r.Owner != ""},
		{"key", r.Key, r.Key != ""},
		{"state", r.State, r.State != ""},
		{"resource", r.Resource, r.Resource != ""},
		{"at", r.At, r.At != 0},
		{"expires", r.Expires, r.Expires != 0},
		{"available from", r.Available, r.Available != 0},
		{"winner", r.Winner, r.Winner != ""},
	} {
		if a.there {
			s += fmt.Sprintf(", %s %v", a.name, a.value)
		}
	}
	return s
}

func told(keys map[string]lease.Row) string {
	s := ""
	for _, region := range []string{"A", "B"} {
		if r, ok := keys[region]; ok {
			s += "[" + region + ": " + tell(r) + "] "
		}
	}
	if s == "" {
		return "no row"
	}
	return s
}

func describe(key string, s *lease.Step) string {
	row := s.Resource
	if s.Do == lease.WriteKey {
		row = key
	}
	return fmt.Sprintf("%s %s at version %d", s.Write.Rule.Name, row, s.Write.Args.Version)
}

func outcome(ok bool, row lease.Row) string {
	if ok {
		return "made, " + tell(row)
	}
	return "refused, " + tell(row)
}
