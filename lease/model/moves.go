package model

import (
	"fmt"

	"github.com/weirhq/weir/lease"
)

// model is a Config under exploration.
type model struct {
	Config
	rows        pool[lease.Row]
	clients     pool[client]
	commands    pool[command]
	written     map[writing]uint32 // results of writes and answers, so that each is computed once
	answers     map[answer]uint32
	made        map[*lease.Rule]bool
	budgetFloor int  // sum of the budgets at which Config.Faults is used up
	describing  bool // transitions get a description
	yield       func(next state, what string)
}

func newModel(c Config) *model {
	all := c.budgets()
	return &model{
		Config: c, rows: newPool[lease.Row](), clients: newPool[client](), commands: newPool[command](),
		written: map[writing]uint32{}, answers: map[answer]uint32{}, made: map[*lease.Rule]bool{}, budgetFloor: all.sum() - int(c.Faults),
	}
}

// moves yields every state that one transition leads to.
func (m *model) moves(w state) {
	for i := range m.Clients {
		m.clientMoves(w, i)
	}
	m.commandMoves(w)
	if w.cut == 0 || w.healed {
		m.replicate(w)
	}
	if w.cut == 0 && int64(w.now) <= m.CutBy && (m.Faults == 0 || w.adoptions > 0) {
		n := w
		n.cut = w.now
		m.emit(n, "%s is cut off", m.Regions[0])
	}
	if w.cut > 0 && !w.healed {
		n := w
		n.healed = true
		m.emit(n, "%s is back", m.Regions[0])
	}
	if int64(w.now) < m.Ticks {
		m.emit(m.tick(w), "time passes")
	}
}

// tick returns w one tick later. State that no client uses any more is removed.
func (m *model) tick(w state) state {
	w.now++
	m.normalizePast(&w)
	for i := range m.Clients {
		by := answer{of: int8(i), client: w.clients[i], now: w.now, kind: noAnswer}
		to, ok := m.answers[by]
		if !ok {
			c := m.clients.list[w.clients[i]]
			for k := range c.holds {
				if c.holds[k].Resource != "" && !m.using(&w, i, int8(k)) {
					c.holds[k] = lease.Grant{}
				}
			}
			to = m.clients.id(m.normalizeClient(c))
			m.answers[by] = to
		}
		w.clients[i] = to
	}
	return w
}

// emit yields n. It formats the description only if one is wanted.
func (m *model) emit(n state, format string, args ...any) {
	if m.Faults > 0 && n.sum() <= m.budgetFloor {
		n.budgets = budgets{}
	}
	if m.describing {
		m.yield(n, fmt.Sprintf(format, args...))
		return
	}
	m.yield(n, "")
}

func (m *model) with(w state, i int, c client) state {
	w.clients[i] = m.clients.id(m.normalizeClient(c))
	return w
}

func (m *model) clock(w *state, i int) int64 { return int64(w.now) + m.Clients[i].Skew }

func (m *model) terms(region string, key int8) *lease.Params {
	return &lease.Params{Rules: m.Rules, Region: region, Holder: m.Keys[key], Skew: m.Skew, Quarantine: m.Quarantine}
}

func (m *model) region(name string) int {
	for i, r := range m.Regions {
		if r == name {
			return i
		}
	}
	return -1
}

// replicate yields the replications of one row to one other region.
func (m *model) replicate(w state) {
	for r := range m.Resources {
		for from := range m.Regions {
			for to := range m.Regions {
				if m.rows.list[w.resources[r].copies[from]].Version > m.rows.list[w.resources[r].copies[to]].Version {
					n := w
					n.resources[r].copies[to] = w.resources[r].copies[from]
					m.emit(n, "row %s comes from %s to %s", m.Resources[r].Name, m.Regions[from], m.Regions[to])
				}
			}
		}
	}
	for k := range m.Keys {
		for owner := range m.Regions {
			for to := range m.Regions {
				if w.keys[k][owner][to] != w.keys[k][owner][owner] {
					n := w
					n.keys[k][owner][to] = w.keys[k][owner][owner]
					m.emit(n, "row %s of %s comes to %s", m.Keys[k], m.Regions[owner], m.Regions[to])
				}
			}
		}
	}
}

// writeResource makes a write at a region's endpoint, if its conditions hold, and returns the
// resulting row.
func (m *model) writeResource(w *state, r, region int, write *lease.Write, by writing) (row uint32, ok bool) {
	before := w.resources[r].copies[region]
	if row, ok = m.apply(before, write, by); !ok {
		return row, false
	}
	for _, copied := range w.resources[r].copies {
		if m.rows.list[copied].Version > m.rows.list[before].Version && write.Rule != &m.Rules.Adopt {
			w.fault = faultStale
		}
	}
	s := writeTime{at: w.now, region: int8(region)}
	if m.WriteTimeSkew != nil {
		s.at += int8(m.WriteTimeSkew[region])
	}
	if last := w.resources[r].written; write.Rule != &m.Rules.Adopt && last.region != s.region && s.at <= last.at {
		w.fault = faultWriteTime
	}
	m.checkChange(w, r, write, &m.rows.list[before], &m.rows.list[row])
	w.resources[r].copies[region] = row
	if len(m.Regions) > 1 && m.rows.list[row].Available > 0 {
		w.resources[r].written = s // needed only while the row can change its owner
	}
	w.resources[r].liberated = write.Rule == &m.Rules.Liberate
	return row, true
}

// writing is a write of a client or a command on a row. The same writing always has the same
// result.
type writing struct {
	client, command, row uint32
	now                  int8
}

// apply returns the number of the row after a write, and whether the write was made.
func (m *model) apply(row uint32, write *lease.Write, by writing) (uint32, bool) {
	by.row = row
	after, ok := m.written[by]
	if !ok {
		if after = row; write.Holds(&m.rows.list[row]) {
			after = m.rows.id(write.Apply(m.rows.list[row]))
			m.made[write.Rule] = true
		}
		m.written[by] = after
	}
	return after, after != row // a write always changes the version
}

// reach reports whether a client or command in one region can write at an endpoint. A region that
// is cut off writes until its write lease ends, by the writer's clock. When it is back, it writes
// only rows that it has seen the latest version of.
func (m *model) reach(w *state, from, to int, clock int64) bool {
	if w.cut == 0 {
		return true
	}
	if to == 0 {
		return from == 0 && clock < int64(w.cut)+m.WriteLease-m.Skew
	}
	return from != 0
}

func (m *model) writeKey(w *state, k int8, region int, write *lease.Write, by writing) (row uint32, ok bool) {
	row, ok = m.apply(w.keys[k][region][region], write, by)
	w.keys[k][region][region] = row
	return row, ok
}
