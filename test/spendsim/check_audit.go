package spendsim

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendaudit"
	"github.com/weirhq/weir/stream"
)

// Times within which each lost event is in a minute that is compared: the first two minutes of a
// counter are not, and the last one has not ended.
const (
	auditedFromMs = 130_000
	auditedToMs   = 200_000
)

// emit takes a minute that a counter has emitted in a transaction.
func (c *counter) emit(x stream.Change) {
	m := &eventspb.SpendAudit{}
	c.w.decode(x.Value, m)
	switch own := names[c.dc] == m.Origin; {
	case c.w.mutation == "counter audits charged events alone" && own && m.Events > 0:
		m.Events -= m.Events / 20
	case c.w.mutation == "counter audits lost events" && !own && m.Lost > 0:
		m = c.w.dcs[c.w.indexOf(m.Origin)].counter.minute(m)
	}
	c.audits = append(c.audits, m)
}

// minute returns what a counter has emitted for the minute of m, or m.
func (c *counter) minute(m *eventspb.SpendAudit) *eventspb.SpendAudit {
	for _, o := range c.audits {
		if o.Origin == m.Origin && o.MinuteMs == m.MinuteMs {
			o = proto.CloneOf(o)
			o.WriterDc, o.Incarnation, o.OwnerEpoch, o.Sequence = m.WriterDc, m.Incarnation, m.OwnerEpoch, m.Sequence
			return o
		}
	}
	return m
}

func (w *simulation) indexOf(name string) int {
	for i := range w.dcs {
		if names[i] == name {
			return i
		}
	}
	return -1
}

// checkAudit is the checker AUDIT.
func (w *simulation) checkAudit() {
	var a spendaudit.Audit
	for _, d := range w.dcs {
		for _, m := range d.counter.audits {
			a.Add(m)
		}
	}
	r := a.Report()
	for i := range r.Differences {
		if d := &r.Differences[i]; !w.differs(d) {
			w.fail("AUDIT", "nothing explains the difference %+v", *d)
		}
	}
	differs := map[[2]string]int{}
	for _, c := range r.Coverage {
		differs[[2]string{c.DC, c.Origin}] = c.Differs
		if w.s.JoinAt == 0 && c.Minutes == 0 {
			w.fail("AUDIT", "no minute of %s is compared at %s", c.Origin, c.DC)
		}
	}
	for to, d := range w.dcs {
		for _, m := range d.mirrors {
			if n := m.lostEvents(); w.s.JoinAt == 0 && !m.adjustments && n > 0 && differs[[2]string{names[to], names[m.origin]}] == 0 {
				w.fail("AUDIT", "%s has lost %d events of %s, and the audit shows no difference", names[to], n, names[m.origin])
			}
		}
	}
}

// differs reports whether counters may differ: one has lost copies, or counts too much.
func (w *simulation) differs(d *spendaudit.Difference) bool {
	for _, s := range d.Sides {
		for _, m := range w.dcs[w.indexOf(s.DC)].mirrors {
			if !m.adjustments && names[m.origin] == d.Origin && len(m.lost) > 0 {
				return true
			}
		}
	}
	return w.faults.seen[OverCount]
}

// lostEvents returns the number of events of which there is no copy, in minutes that are compared.
func (m *mirror) lostEvents() (n int) {
	for i := range m.source.entries {
		e := &m.source.entries[i]
		if m.lost[e.Offset] && e.event != nil && e.event.Campaign != "" && e.at >= auditedFromMs && e.at < auditedToMs {
			n++
		}
	}
	return n
}
