package spendaudit

import (
	"cmp"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
)

const minuteMs = 60_000

// counter is what one counter has of a series.
type counter struct {
	dc          string
	first, last int64 // minutes
	minutes     map[int64]*eventspb.SpendAudit
}

// has reports whether the counter has read the events of a whole minute, which may be none.
func (c *counter) has(minute int64) bool {
	return c.first <= minute && minute <= c.last && !c.minutes[minute].GetBegins()
}

// comparison compares the counters of one series.
type comparison struct {
	at       series
	counters []*counter // the origin's own first, then by name
	times    []int64    // the minutes that any counter has, in order
	open     *Difference
	found    []Difference
}

func newComparison(at series, list []*eventspb.SpendAudit) *comparison {
	c := &comparison{at: at}
	for _, m := range list {
		w := c.counter(m.GetWriterDc())
		minute := m.GetMinuteMs()
		if len(w.minutes) == 0 {
			w.first, w.last = minute, minute
		}
		if old := w.minutes[minute]; old == nil || newest(m, old) {
			w.minutes[minute] = m
		}
		w.first, w.last = min(w.first, minute), max(w.last, minute)
		c.times = append(c.times, minute)
	}
	slices.Sort(c.times)
	c.times = slices.Compact(c.times)
	slices.SortFunc(c.counters, func(x, y *counter) int {
		return cmp.Or(-compareBool(x.dc == at.origin, y.dc == at.origin), cmp.Compare(x.dc, y.dc))
	})
	return c
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (c *comparison) counter(dc string) *counter {
	for _, w := range c.counters {
		if w.dc == dc {
			return w
		}
	}
	w := &counter{dc: dc, minutes: map[int64]*eventspb.SpendAudit{}}
	c.counters = append(c.counters, w)
	return w
}

// run compares all minutes.
func (c *comparison) run(coverage map[[2]string]*Coverage) {
	for _, minute := range c.times {
		d := Difference{Shard: c.at.shard, Origin: c.at.origin, FromMs: minute, ToMs: minute + minuteMs, FirstOffset: -1}
		for _, w := range c.counters {
			if w.has(minute) {
				d.add(w.dc, w.minutes[minute])
			}
		}
		if len(d.Sides) < 2 {
			c.close(coverage)
			continue
		}
		for i := range d.Sides {
			v := coverage[[2]string{c.at.origin, d.Sides[i].DC}]
			v.Minutes++
			v.Events += d.Sides[i].Events
		}
		switch {
		case d.equal():
			c.close(coverage)
		case c.open != nil && c.open.join(&d):
		default:
			c.close(coverage)
			c.open = &d
		}
	}
	c.close(coverage)
}

// close ends the difference that is open.
func (c *comparison) close(coverage map[[2]string]*Coverage) {
	if c.open != nil && !c.open.equal() {
		c.found = append(c.found, *c.open)
		for i := range c.open.Sides {
			coverage[[2]string{c.at.origin, c.open.Sides[i].DC}].Differs++
		}
	}
	c.open = nil
}

// add adds a side. m is nil if the counter has no event of the minute.
func (d *Difference) add(dc string, m *eventspb.SpendAudit) {
	d.Sides = append(d.Sides, Side{
		DC: dc, Events: m.GetEvents(), Micros: m.GetMicros(), Digest: m.GetDigest(), Lost: m.GetLost(), Rejected: m.GetRejected(),
	})
	if m == nil {
		return
	}
	if d.FirstOffset < 0 || m.GetFirstOffset() < d.FirstOffset {
		d.FirstOffset = m.GetFirstOffset()
	}
	d.NextOffset = max(d.NextOffset, m.GetNextOffset())
}

// equal reports whether all sides have read the same events.
func (d *Difference) equal() bool {
	for i := range d.Sides {
		if !d.Sides[i].same(&d.Sides[0]) {
			return false
		}
	}
	return true
}

// join adds a later minute, unless other counters have it.
func (d *Difference) join(next *Difference) bool {
	if !slices.EqualFunc(d.Sides, next.Sides, func(x, y Side) bool { return x.DC == y.DC }) {
		return false
	}
	for i := range d.Sides {
		x, y := &d.Sides[i], &next.Sides[i]
		x.Events, x.Micros, x.Digest = x.Events+y.Events, x.Micros+y.Micros, x.Digest+y.Digest
		x.Lost, x.Rejected = x.Lost+y.Lost, x.Rejected+y.Rejected
	}
	d.ToMs = next.ToMs
	d.FirstOffset, d.NextOffset = min(d.FirstOffset, next.FirstOffset), max(d.NextOffset, next.NextOffset)
	return true
}
