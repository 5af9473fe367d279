package model

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/lease"
)

// commandMoves yields the transitions of commands: the liberator, balancer, dedup or administrator
// decides on a row as some region has it, which may be an old copy. At any later time the write is
// made at the endpoint of the region that owned the row. Both read the clock.
func (m *model) commandMoves(w state) {
	free := -1
	for i := range max(m.Commands, 1) {
		switch {
		case w.commands[i] == 0:
			free = i
		case i == 0 || w.commands[i] != w.commands[i-1]: // two equal commands lead to the same states
			m.execute(w, i)
		}
	}
	if free < 0 {
		return
	}
	now := int64(w.now) + m.CommandSkew
	if w.imports > 0 {
		n := w
		n.imports--
		row := lease.Row{Owner: m.Regions[m.Resources[0].Owner], Available: 1}
		m.send(&n, command{region: int8(m.Resources[0].Owner), write: lease.Write{Rule: &m.Rules.Register, Args: row, Skew: m.Skew}})
		m.emit(n, "command: register %s again", m.Resources[0].Name)
	}
	for r := range m.Resources {
		for at := range m.Regions {
			m.resourceCommands(w, r, at, now)
		}
	}
	if w.supersedes > 0 {
		m.supersede(w)
	}
	if w.adoptions > 0 && w.cut > 0 && now > int64(w.cut)+m.WriteLease+m.Skew {
		m.adopt(w, now)
	}
}

// send adds a command to those under way. Their order is normalized, as it has no meaning.
func (m *model) send(w *state, c command) {
	w.commands[maxCommands-1] = m.commands.id(c)
	sortCommands(w.commands[:])
}

func sortCommands(commands []uint32) {
	slices.SortFunc(commands, func(a, b uint32) int { return cmp.Compare(b, a) })
}

// resourceCommands yields the commands that can be decided on resource r's row as one region has
// it.
func (m *model) resourceCommands(w state, r, at int, now int64) {
	row := m.rows.list[w.resources[r].copies[at]]
	owner := m.region(row.Owner)
	c := command{region: int8(owner), resource: int8(r)}
	if w.liberations > 0 {
		n := w
		n.liberations--
		m.decide(n, c, &m.Rules.Liberate, &row, lease.Row{Available: row.Expires + m.Quarantine})
	}
	for to := range m.Regions {
		if w.transfers > 0 && to != owner {
			n, d := w, c
			n.transfers--
			d.last = w.now + int8(m.Flight)
			m.decide(n, d, &m.Rules.Transfer, &row, lease.Row{Owner: m.Regions[to], Available: now + m.TransferWait})
		}
	}
	if w.retires > 0 && at == owner {
		n := w
		n.retires--
		m.decide(n, c, &m.Rules.Retire, &row, lease.Row{})
	}
	if w.revives > 0 && at == owner && row.Holder == "" && row.Available == 0 {
		n := w
		n.revives--
		m.decide(n, c, &m.Rules.Revive, &row, lease.Row{Available: now})
	}
}

// decide sends a command for a write at the row's version, if its conditions hold now.
func (m *model) decide(w state, c command, rule *lease.Rule, row *lease.Row, args lease.Row) {
	args.Version = row.Version
	c.write = lease.Write{Rule: rule, Args: args, Now: int64(w.now) + m.CommandSkew, Skew: m.Skew}
	if !c.write.Holds(row) {
		return
	}
	c.write.Now = 0
	m.send(&w, c)
	m.emit(w, "command: %s %s as of version %d", rule.Name, m.Resources[c.resource].Name, row.Version)
}

// adopt decides that the second region adopts a resource of the first one, which was cut off for
// longer than its write lease. The first region may have leased the resource just before the end,
// and no other region has seen it. So it is offered only after the longest lease and a quarantine.
// A retired resource stays retired. It may have been revived unseen, so it is adopted after that
// time.
func (m *model) adopt(w state, now int64) {
	until := int64(w.cut) + m.WriteLease + m.Length + m.Quarantine
	for r := range m.Resources {
		row := m.rows.list[w.resources[r].copies[1]]
		args := lease.Row{Version: row.Version, Owner: m.Regions[1], Available: until}
		if row.Holder == "" && row.Available == 0 {
			args.Available = 0
			if now <= until+m.Skew && !m.AdoptRetiredEarly {
				continue
			}
		}
		if row.Owner != m.Regions[0] {
			continue
		}
		n := w
		n.adoptions--
		m.send(&n, command{region: 1, resource: int8(r), write: lease.Write{Rule: &m.Rules.Adopt, Args: args, Skew: m.Skew}})
		m.emit(n, "command: %s adopts %s as of version %d", m.Regions[1], m.Resources[r].Name, row.Version)
	}
}

// supersede decides between the leases of one key in two regions. All decide alike: the first
// region by name wins.
func (m *model) supersede(w state) {
	for k := range m.Keys {
		winner, loser := m.rows.list[w.keys[k][0][0]], m.rows.list[w.keys[k][1][1]]
		if winner.State != lease.Leased || loser.State != lease.Leased || winner.Over(int64(w.now), 0) || loser.Over(int64(w.now), 0) {
			continue
		}
		n := w
		n.supersedes--
		args := lease.Row{Version: loser.Version, State: lease.Superseded, Winner: m.Regions[0]}
		m.send(&n, command{region: 1, resource: -1, key: int8(k), write: lease.Write{Rule: &m.Rules.Supersede, Args: args, Skew: m.Skew}})
		m.emit(n, "command: %s's %s at %s as of version %d is superseded", m.Regions[1], loser.Resource, m.Keys[k], loser.Version)
	}
}

// execute makes the write of command i, and ends the command or keeps it for a repetition.
func (m *model) execute(w state, i int) {
	c := m.commands.list[w.commands[i]]
	gone := func(w state) state {
		w.commands[i] = 0
		sortCommands(w.commands[:])
		return w
	}
	if c.last > 0 && w.now > c.last {
		m.emit(gone(w), "%s at %s is dropped: too late", c.write.Rule.Name, m.Regions[c.region])
		return
	}
	if !m.reach(&w, int(c.region), int(c.region), int64(w.now)) {
		return
	}
	n := w
	c.write.Now = int64(w.now) + m.CommandSkew
	by := writing{command: w.commands[i], now: w.now}
	var row uint32
	var ok bool
	if c.resource >= 0 {
		row, ok = m.writeResource(&n, int(c.resource), int(c.region), &c.write, by)
	} else {
		row, ok = m.writeKey(&n, c.key, int(c.region), &c.write, by)
	}
	if n.repeats > 0 {
		again := n
		again.repeats--
		m.emit(again, "%s at %s: %s; the command stays", c.write.Rule.Name, m.Regions[c.region], m.outcome(ok, row))
	}
	m.emit(gone(n), "%s at %s: %s", c.write.Rule.Name, m.Regions[c.region], m.outcome(ok, row))
}
