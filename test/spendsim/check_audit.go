package spendsim

import (
	"slices"

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
	case c.w.mutation == "counter audits nothing after a restart" && c.epoch > 1:
		return
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
	r := a.Report(names[:w.s.DCs]...)
	for i := range r.Differences {
		w.checkDifference(&r.Differences[i])
	}
	differs, over := map[[2]string]int{}, map[string]int{}
	for _, c := range r.Coverage {
		differs[[2]string{c.DC, c.Origin}] = c.Differs
		over[c.DC] += c.Differs
		// The brokers of an origin may be stopped in all minutes but the last.
		if !w.joined(c.DC) && !w.joined(c.Origin) && (c.Minutes < 1 || c.Missing > 0 || c.BehindMs > 60_000) {
			w.fail("AUDIT", "of %s, %s has only %+v", c.Origin, c.DC, c)
		}
	}
	for to, d := range w.dcs {
		for _, m := range d.mirrors {
			n := m.lostEvents()
			if n > 0 && differs[[2]string{names[to], names[m.origin]}] == 0 && !w.joined(names[to]) && !w.joined(names[m.origin]) {
				w.fail("AUDIT", "%s has lost %d events of %s, and the audit shows no difference", names[to], n, names[m.origin])
			}
		}
		if w.overCounts(to) && over[names[to]] == 0 && !w.joined(names[to]) {
			w.fail("AUDIT", "%s has charged too much, and the audit shows no difference", names[to])
		}
	}
}

// joined reports whether a datacentre was added in the run: its first minutes are not compared.
func (w *simulation) joined(name string) bool { return w.s.JoinAt > 0 && name == names[w.s.DCs-1] }

// overCounts reports whether a counter charges too much for some seconds of minutes that are
// compared.
func (w *simulation) overCounts(dc int) bool {
	return slices.ContainsFunc(w.s.Faults, func(f Fault) bool {
		return f.Kind == OverCount && f.DC == dc && min(f.To, auditedToMs)-max(f.From, auditedFromMs) >= 5000
	})
}

// checkDifference requires of each side that differs from the origin's own counter, which is the
// first, that it has lost one of the records, or that one of both charges too much.
func (w *simulation) checkDifference(d *spendaudit.Difference) {
	charges := func(dc int) bool {
		return slices.ContainsFunc(w.s.Faults, func(f Fault) bool { return f.Kind == OverCount && f.DC == dc })
	}
	first := &d.Sides[0]
	for i := range d.Sides {
		s := &d.Sides[i]
		dc := w.indexOf(s.DC)
		if s.Same(first) || charges(dc) || charges(w.indexOf(first.DC)) {
			continue
		}
		if !w.lostIn(dc, d) && !w.lostIn(w.indexOf(first.DC), d) {
			w.fail("AUDIT", "nothing explains what %s has in the difference %+v", s.DC, *d)
		}
	}
}

// lostIn reports whether a datacentre has lost a record of a difference.
func (w *simulation) lostIn(dc int, d *spendaudit.Difference) bool {
	for _, m := range w.dcs[dc].mirrors {
		if m.adjustments || names[m.origin] != d.Origin {
			continue
		}
		for offset := range m.lost {
			if offset >= d.FirstOffset && offset < d.NextOffset {
				return true
			}
		}
	}
	return false
}

// lostEvents returns the number of events of which there is no copy, in minutes that are compared.
func (m *mirror) lostEvents() (n int) {
	for i := range m.source.entries {
		if m.adjustments {
			break
		}
		e := &m.source.entries[i]
		if m.lost[e.Offset] && e.event != nil && e.event.Campaign != "" && e.at >= auditedFromMs && e.at < auditedToMs {
			n++
		}
	}
	return n
}
