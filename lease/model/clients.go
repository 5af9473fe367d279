package model

import (
	"github.com/weirhq/weir/lease"
)

// clientMoves yields the transitions of client i.
func (m *model) clientMoves(w state, i int) {
	c := &m.clients.list[w.clients[i]]
	if c.op == idle {
		m.begin(w, i, *c)
		return
	}
	m.proceed(w, i, c)
	if w.crashes > 0 {
		n := w
		n.crashes--
		m.emit(m.with(n, i, c.idled()), "client %d crashes", i+1)
	}
}

// idled returns c without an operation.
func (c *client) idled() client {
	return client{ops: c.ops, holds: c.holds, buffer: c.buffer}
}

// begin yields the operations that c can begin.
func (m *model) begin(w state, i int, c client) {
	now := m.clock(&w, i)
	for k := range int8(len(m.Keys)) {
		if c.holds[k].Unsettled {
			d := c
			d.op, d.key, d.step = settling, k, m.terms(c.holds[k].Region, k).SettleStep(c.holds[k], now)
			d.holds[k].Unsettled = !m.SkipSettle
			m.emit(m.with(w, i, d), "client %d begins to settle %s", i+1, m.Keys[k])
		}
		if only := m.Clients[i].Only; c.ops == 0 || only != "" && only != m.Keys[k] {
			continue
		}
		d := c
		d.ops--
		d.key = k
		if m.Naive {
			d.op = looking
			m.emit(m.with(w, i, d), "client %d wants %s", i+1, m.Keys[k])
			continue
		}
		get := d
		get.op, get.get = getting, lease.Get{Until: now + m.Length}
		get.step = get.get.Begin(m.terms(m.Regions[m.Clients[i].Region], k), now)
		m.emit(m.with(w, i, get), "client %d begins to get %s until %d", i+1, m.Keys[k], now+m.Length)
		if held := c.holds[k]; m.using(&w, i, k) {
			t := m.terms(held.Region, k)
			if m.Renewals && now+m.Length > held.Expires {
				renew := d
				renew.op, renew.renew = renewing, lease.Renew{Lease: held, Until: now + m.Length}
				renew.step = renew.renew.Begin(t, now)
				m.emit(m.with(w, i, renew), "client %d begins to renew %s until %d", i+1, m.Keys[k], now+m.Length)
			}
			if m.Releases {
				release := d
				release.op, release.release = releasing, lease.Release{Lease: held}
				release.step = release.release.Begin(t, now)
				m.emit(m.with(w, i, release), "client %d begins to release %s", i+1, m.Keys[k])
			}
		}
	}
	if c.buffer.Resource == "" && c.ops > 0 && !m.Naive && !m.NoIndexLag {
		for _, cand := range m.offered(&w, i) {
			d := c
			d.buffer = cand
			m.emit(m.with(w, i, d), "client %d finds %s at version %d in the index", i+1, cand.Resource, cand.Version)
		}
	}
}

// offered returns the candidates that the index shows to client i now.
func (m *model) offered(w *state, i int) (list []lease.Candidate) {
	region := m.Clients[i].Region
	offer := lease.Write{Rule: &m.Rules.Offered, Args: lease.Row{Owner: m.Regions[region]}, Now: m.clock(w, i), Skew: m.Skew}
	for r := range m.Resources {
		if row := &m.rows.list[w.resources[r].copies[region]]; offer.Holds(row) {
			list = append(list, lease.Candidate{Resource: m.Resources[r].Name, Version: row.Version})
		}
	}
	return list
}

// proceed yields the results of client i's next step.
func (m *model) proceed(w state, i int, c *client) {
	now, region := m.clock(&w, i), m.Clients[i].Region
	switch {
	case c.op == looking || c.op == taking:
		m.naive(w, i, *c)
	case c.step.Action == lease.ReadKeys:
		rows := answer{kind: lease.ReadKeys}
		for owner := range m.Regions {
			rows.rows[owner] = w.keys[c.key][owner][region]
		}
		n := m.next(w, i, rows)
		m.checkAsked(&n, i, c.key, &rows)
		m.emit(n, "client %d reads %s: %v", i+1, m.Keys[c.key], m.formatAnswer(rows))
	case c.step.Action == lease.Pick:
		m.pick(w, i, c)
	case !m.reach(&w, region, m.region(c.step.Region), now):
		m.emit(m.with(w, i, c.idled()), "client %d cannot write at %s", i+1, c.step.Region)
	default:
		n := w
		row, ok := m.write(&n, i, c.key, &c.step)
		what := m.describe(m.Keys[c.key], &c.step)
		m.emit(m.next(n, i, answer{kind: c.step.Action, ok: ok, rows: [maxRegions]uint32{row}}), "client %d, %s: %s", i+1, what,
			m.outcome(ok, row))
		if w.lost > 0 && ok {
			n.lost--
			m.emit(n, "client %d, %s: made, but the answer is lost", i+1, what)
		}
	}
}

func (m *model) write(w *state, i int, key int8, s *lease.Step) (row uint32, ok bool) {
	by := writing{client: w.clients[i], now: int8(m.clock(w, i))}
	if s.Action == lease.WriteKey {
		return m.writeKey(w, key, m.region(s.Region), &s.Write, by)
	}
	return m.writeResource(w, m.resource(s.Resource), m.region(s.Region), &s.Write, by)
}

func (m *model) resource(name string) int {
	for r := range m.Resources {
		if m.Resources[r].Name == name {
			return r
		}
	}
	return -1
}

func (m *model) pick(w state, i int, c *client) {
	if c.buffer.Resource != "" {
		found := c.buffer
		d := *c
		d.buffer = lease.Candidate{}
		m.emit(m.next(m.with(w, i, d), i, m.picked(found)), "client %d picks %s at version %d, found before", i+1, found.Resource,
			found.Version)
		return
	}
	offered := m.offered(&w, i)
	if len(offered) == 0 {
		m.emit(m.next(w, i, answer{kind: lease.Pick}), "client %d finds nothing in the index", i+1)
	}
	for _, cand := range offered {
		m.emit(m.next(w, i, m.picked(cand)), "client %d picks %s at version %d", i+1, cand.Resource, cand.Version)
	}
}

func (m *model) picked(c lease.Candidate) answer {
	return answer{kind: lease.Pick, ok: true, resource: int8(m.resource(c.Resource)), at: c.Version}
}

// answer is what a client receives for a step, as numbers. The same answer always leads to the same
// client.
type answer struct {
	client   uint32
	of       int8 // the client: clients are in different regions
	now      int8
	kind     lease.Action // of the step
	ok       bool
	resource int8
	at       int64
	rows     [maxRegions]uint32
}

// noAnswer is the kind of a passing tick.
const noAnswer = lease.Lost

// observation returns an answer in the form of the state machines.
func (m *model) observation(a answer) lease.Observation {
	seen := lease.Observation{Now: int64(a.now), OK: a.ok}
	switch {
	case a.kind == lease.ReadKeys:
		seen.Keys = map[string]lease.Row{}
		for owner, name := range m.Regions {
			if row := m.rows.list[a.rows[owner]]; row.Version > 0 {
				seen.Keys[name] = row
			}
		}
	case a.kind == lease.Pick && a.ok:
		seen.Pick = lease.Candidate{Resource: m.Resources[a.resource].Name, Version: a.at}
	default:
		seen.Row = m.rows.list[a.rows[0]]
	}
	return seen
}

// next returns the state after client i's state machine has received the answer to its step.
func (m *model) next(w state, i int, a answer) state {
	a.of, a.client, a.now = int8(i), w.clients[i], int8(m.clock(&w, i))
	to, ok := m.answers[a]
	if !ok {
		to = m.clients.id(m.normalizeClient(m.answered(i, m.clients.list[a.client], m.observation(a))))
		m.answers[a] = to
	}
	w.clients[i] = to
	return w
}

// answered returns c after its state machine has received the answer to its step.
func (m *model) answered(i int, c client, seen lease.Observation) client {
	switch c.op {
	case getting:
		c.step = c.get.Next(m.terms(m.Regions[m.Clients[i].Region], c.key), seen)
		if c.step.Action == lease.Done {
			c.holds[c.key] = c.step.Lease
		}
	case renewing:
		c.step = c.renew.Next(m.terms(c.renew.Lease.Region, c.key), seen)
		if c.step.Action == lease.Done {
			c.holds[c.key] = c.step.Lease
		}
	case releasing:
		c.step = c.release.Next(m.terms(c.release.Lease.Region, c.key), seen)
		if c.step.Action == lease.Done {
			c.holds[c.key] = lease.Grant{}
		}
	default: // settling: it is repeated unless the write was acknowledged
		if seen.OK {
			c.holds[c.key].KeyVersion, c.holds[c.key].Unsettled = seen.Row.Version, false
		}
		return c.idled()
	}
	switch c.step.Action {
	case lease.Lost:
		c.holds[c.key] = lease.Grant{}
		return c.idled()
	case lease.Done, lease.Exhausted, lease.WaitUntil:
		return c.idled()
	default:
		return c
	}
}

// using reports whether client i uses the resource of key k: it stops the skew before the end, by
// its own clock.
func (m *model) using(w *state, i int, k int8) bool {
	h := &m.clients.list[w.clients[i]].holds[k]
	return h.Resource != "" && m.clock(w, i) < h.Expires-m.Skew
}
