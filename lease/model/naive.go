package model

import (
	"github.com/weirhq/weir/lease"
)

// naive is the protocol of System1's article: search the key in an index, which may lag; if it is
// not there, write the row of an available resource under the condition of its version.
func (m *model) naive(w state, i int, c client) {
	region := m.Clients[i].Region
	if c.op == taking {
		step := lease.Step{Action: lease.WriteResource, Region: m.Regions[region], Resource: c.buffer.Resource, Write: lease.Write{
			Rule: &m.Rules.Take, Args: lease.Row{Version: c.buffer.Version, Holder: m.Keys[c.key], Expires: m.clock(&w, i) + m.Length},
		}}
		n := w
		id, ok := m.write(&n, i, c.key, &step)
		row := m.rows.list[id]
		d := c.idled()
		d.buffer = lease.Candidate{}
		if ok {
			d.holds[c.key] = lease.Grant{Resource: step.Resource, Region: step.Region, Token: row.Version, Expires: row.Expires}
		}
		m.emit(m.with(n, i, d), "client %d writes %s for %s: %s", i+1, step.Resource, m.Keys[c.key], m.outcome(ok, id))
		return
	}
	for r := range m.Resources {
		if row := m.rows.list[w.resources[r].copies[region]]; row.Holder == m.Keys[c.key] {
			d := c.idled()
			d.holds[c.key] = lease.Grant{Resource: m.Resources[r].Name, Region: m.Regions[region], Token: row.Version, Expires: row.Expires}
			m.emit(m.with(w, i, d), "client %d finds %s in the index: %s", i+1, m.Keys[c.key], m.Resources[r].Name)
		}
	}
	for _, cand := range m.offered(&w, i) {
		d := c
		d.op, d.buffer = taking, cand
		m.emit(m.with(w, i, d), "client %d does not find %s in the index, which lags, but that %s is available", i+1, m.Keys[c.key],
			cand.Resource)
	}
}
