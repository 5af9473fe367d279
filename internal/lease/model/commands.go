package model

import "github.com/weirhq/weir/internal/lease"

// commandMoves yields what liberator, balancer and reaper may do: decide on a row as it is in some region, perhaps long
// ago elsewhere, and, any time later, write at the endpoint of the region that owned it.
func (m *model) commandMoves(w world) {
	if w.command != 0 {
		m.carryOut(w, m.commands.list[w.command])
		return
	}
	now := int64(w.now) + m.CommandSkew
	if w.imports > 0 {
		n := w
		n.imports--
		n.command = m.commands.id(command{region: int8(m.Resources[0].Owner), write: lease.Write{
			Rule: &m.Rules.Register, Args: lease.Row{Owner: m.Regions[m.Resources[0].Owner], Available: 1},
		}})
		m.to(n, "command: register %s, once more", m.Resources[0].Name)
	}
	for r := range m.Resources {
		for at := range m.Regions {
			row := m.rows.list[w.resources[r][at]]
			c := command{region: int8(m.region(row.Owner)), resource: int8(r)}
			if w.liberations > 0 {
				c.write = lease.Write{Rule: &m.Rules.Liberate, Args: lease.Row{Version: row.Version, Available: row.Expires + m.Quarantine}, Now: now, Skew: m.Skew}
				n := w
				n.liberations--
				m.decide(n, c, &row)
			}
			for to := range m.Regions {
				if w.transfers > 0 && to != int(c.region) {
					c.last = w.now + int8(m.Flight)
					c.write = lease.Write{Rule: &m.Rules.Transfer, Args: lease.Row{Version: row.Version, Owner: m.Regions[to], Available: now + m.TransferWait}, Now: now, Skew: m.Skew}
					n := w
					n.transfers--
					m.decide(n, c, &row)
				}
			}
		}
	}
	if w.supersedes > 0 {
		m.supersede(w)
	}
	if w.adoptions > 0 && w.cut > 0 && now > int64(w.cut)+m.RegionLease+m.Skew {
		m.adopt(w, now)
	}
}

// adopt decides that the second region has the resources of the first, which was cut off for longer than its region lease.
// The first may have leased any of them just before that was over, and nobody has seen it: so none is offered before the
// longest lease and a quarantine.
func (m *model) adopt(w world, now int64) {
	for r := range m.Resources {
		row := m.rows.list[w.resources[r][1]]
		if row.Owner != m.Regions[0] {
			continue
		}
		n := w
		n.adoptions--
		n.command = m.commands.id(command{region: 1, resource: int8(r), write: lease.Write{
			Rule: &m.Rules.Adopt, Now: now, Skew: m.Skew,
			Args: lease.Row{Version: row.Version, Owner: m.Regions[1], Available: int64(w.cut) + m.RegionLease + m.Length + m.Quarantine},
		}})
		m.to(n, "command: %s adopts %s as of version %d", m.Regions[1], m.Resources[r].Name, row.Version)
	}
}

func (m *model) decide(w world, c command, row *lease.Row) {
	if !c.write.Holds(row) {
		return
	}
	w.command = m.commands.id(c)
	m.to(w, "command: %s %s as of version %d", c.write.Rule.Name, m.Resources[c.resource].Name, row.Version)
}

// supersede decides between two regions that lease one key: by all the same way, the first by name wins.
func (m *model) supersede(w world) {
	for k := range m.Keys {
		winner, loser := m.rows.list[w.keys[k][0][0]], m.rows.list[w.keys[k][1][1]]
		if winner.State != lease.Leased || loser.State != lease.Leased || winner.Over(int64(w.now), 0) || loser.Over(int64(w.now), 0) {
			continue
		}
		n := w
		n.supersedes--
		n.command = m.commands.id(command{region: 1, resource: -1, key: int8(k), write: lease.Write{
			Rule: &m.Rules.Supersede, Args: lease.Row{Version: loser.Version, State: lease.Superseded, Winner: m.Regions[0]}, Now: int64(w.now), Skew: m.Skew,
		}})
		m.to(n, "command: %s's %s at %s as of version %d is superseded", m.Regions[1], loser.Resource, m.Keys[k], loser.Version)
	}
}

// carryOut makes the write, once or again and again, or loses the command.
func (m *model) carryOut(w world, c command) {
	n := w
	if c.last > 0 && w.now > c.last {
		n.command = 0
		m.to(n, "%s at %s comes too late to be sent", c.write.Rule.Name, m.Regions[c.region])
		return
	}
	if !m.reach(&w, int(c.region), int(c.region), int64(w.now)) {
		return
	}
	var row lease.Row
	var ok bool
	if c.resource >= 0 {
		row, ok = m.writeResource(&n, int(c.resource), int(c.region), &c.write)
	} else {
		row, ok = m.writeKey(&n, c.key, int(c.region), &c.write)
	}
	if n.repeats > 0 {
		again := n
		again.repeats--
		m.to(again, "%s at %s: %s; the command stays", c.write.Rule.Name, m.Regions[c.region], outcome(ok, row))
	}
	n.command = 0
	m.to(n, "%s at %s: %s", c.write.Rule.Name, m.Regions[c.region], outcome(ok, row))
}
