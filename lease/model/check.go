package model

import (
	"fmt"

	"github.com/weirhq/weir/lease"
)

// fault is a violation that is visible in a transition only, and not in the state after it.
type fault uint8

const (
	faultNone fault = iota
	faultStale
	faultWriteTime
	faultNeither
	faultRetired
	faultUndone
	faultEarly
	faultLoser
)

// check returns the invariant that w violates, or "".
func (m *model) check(w *state) string {
	switch w.fault {
	case faultStale:
		return "LEASE-6: a row is written in a region that has not seen its last version: one of the two writes will be lost"
	case faultWriteTime:
		return "LEASE-6: a row is written with an earlier time than its last write in another region: the write will be lost"
	case faultNeither:
		return "LEASE-4: a row that was available or leased is neither, without a retirement"
	case faultRetired:
		return "LEASE-4: a retired resource is in use again, and no command revived it"
	case faultUndone:
		return "LEASE-7: a resource is retired or revived by a command that was decided before the last such command: that one is undone"
	case faultEarly:
		return "LEASE-8: a resource is offered before its last lease's end and the quarantine"
	case faultLoser:
		return "LEASE-3: a key's lease was superseded, and a client that asked again does not have the winner's lease"
	case faultNone:
	}
	for r := range m.Resources {
		for at, id := range w.resources[r].copies {
			if row := &m.rows.list[id]; at < len(m.Regions) && row.Holder != "" && row.Available != 0 {
				return fmt.Sprintf("LEASE-4: %s is both available and leased: %s", m.Resources[r].Name, formatRow(*row))
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

// checkUse checks the invariants of the resource that client i uses for key k.
func (m *model) checkUse(w *state, i int, k int8) string {
	mine := &m.clients.list[w.clients[i]].holds[k]
	for j := range i {
		for l := range int8(len(m.Keys)) {
			if !m.using(w, j, l) {
				continue
			}
			other := &m.clients.list[w.clients[j]].holds[l]
			switch {
			case k != l && mine.Resource == other.Resource:
				return fmt.Sprintf("LEASE-1: client %d uses %s for %s, client %d for %s", j+1, mine.Resource, m.Keys[l], i+1, m.Keys[k])
			case k == l && mine.Region == other.Region && mine.Resource != other.Resource:
				return fmt.Sprintf("LEASE-2: for %s client %d uses %s and client %d %s", m.Keys[k], j+1, other.Resource, i+1, mine.Resource)
			}
		}
	}
	r := m.resource(mine.Resource)
	row := &m.rows.list[w.resources[r].copies[m.region(mine.Region)]]
	held := row.Holder == m.Keys[k] && row.Expires >= mine.Expires
	released := row.Available >= mine.Expires+m.Quarantine && !w.resources[r].liberated
	if !held && !released && !m.Naive {
		return fmt.Sprintf("LEASE-5: client %d uses %s for %s until %d, but its row is: %s", i+1, mine.Resource, m.Keys[k], mine.Expires,
			formatRow(*row))
	}
	return ""
}

// checkChange checks a write of resource r's row.
func (m *model) checkChange(w *state, r int, write *lease.Write, before, after *lease.Row) {
	wasRetired, isRetired := before.Version > 0 && before.Holder == "" && before.Available == 0, after.Holder == "" && after.Available == 0
	administers := write.Rule == &m.Rules.Retire || write.Rule == &m.Rules.Revive
	switch {
	case administers && wasRetired != isRetired && write.Args.Version < int64(w.resources[r].administered):
		w.fault = faultUndone
	case isRetired && !wasRetired && write.Rule != &m.Rules.Retire:
		w.fault = faultNeither
	case wasRetired && !isRetired && write.Rule != &m.Rules.Revive:
		w.fault = faultRetired
	}
	for _, copied := range w.resources[r].copies { // another region's copy may show a later lease
		if row := &m.rows.list[copied]; row.Holder != "" && after.Holder == "" && after.Available != 0 &&
			after.Available < row.Expires+m.Quarantine {
			w.fault = faultEarly
		}
	}
	if administers {
		w.resources[r].administered = int32(after.Version)
	}
}

// checkAsked checks the result of client i's read of a key's rows, if they show that another
// region's lease won.
func (m *model) checkAsked(w *state, i int, k int8, seen *answer) {
	own := &m.rows.list[seen.rows[m.Clients[i].Region]]
	if now := m.clock(w, i); own.State == lease.Superseded && own.Expires > now+m.Skew {
		c := &m.clients.list[w.clients[i]]
		for region, id := range seen.rows[:len(m.Regions)] {
			row := &m.rows.list[id]
			if row.Live(now, m.Skew) && (c.op != idle || c.holds[k].Resource != row.Resource || c.holds[k].Region != m.Regions[region]) {
				w.fault = faultLoser
			}
		}
	}
}

// formatRow describes a row, for histories.
func formatRow(r lease.Row) string {
	s := fmt.Sprintf("version %d", r.Version)
	for _, a := range []struct {
		name  string
		value any
		there bool
	}{
		{"owner", r.Owner, r.Owner != ""},
		{"holder", r.Holder, r.Holder != ""},
		{"state", r.State, r.State != ""},
		{"resource", r.Resource, r.Resource != ""},
		{"resource version", r.ResourceVersion, r.ResourceVersion != 0},
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

func (m *model) formatAnswer(a answer) string {
	if !m.describing {
		return ""
	}
	s := ""
	for i, region := range m.Regions {
		if r := m.rows.list[a.rows[i]]; r.Version > 0 {
			s += "[" + region + ": " + formatRow(r) + "] "
		}
	}
	if s == "" {
		return "no row"
	}
	return s
}

func (m *model) describe(key string, s *lease.Step) string {
	if !m.describing {
		return ""
	}
	row := s.Resource
	if s.Action == lease.WriteKey {
		row = key
	}
	return fmt.Sprintf("%s %s at version %d", s.Write.Rule.Name, row, s.Write.Args.Version)
}

func (m *model) outcome(ok bool, row uint32) string {
	switch {
	case !m.describing:
		return ""
	case ok:
		return "made, " + formatRow(m.rows.list[row])
	default:
		return "refused, " + formatRow(m.rows.list[row])
	}
}
