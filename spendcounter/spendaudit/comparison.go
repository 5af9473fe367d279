package spendaudit

import (
	"cmp"
	"maps"
	"slices"
)

// comparison compares the counters of one series.
type comparison struct {
	at       series
	counters []*counter // the origin's own first, then by name
	times    []int64    // the minutes that any counter has, in order
	last     int64      // of times
	open     *Difference
	found    []Difference
}

func newComparison(at series, records map[string][]minute) *comparison {
	c := &comparison{at: at}
	for _, dc := range slices.Sorted(maps.Keys(records)) {
		w := newCounter(dc, records[dc])
		c.counters = append(c.counters, w)
		for i := range w.list {
			c.times = append(c.times, w.list[i].ms)
		}
	}
	slices.Sort(c.times)
	c.times = slices.Compact(c.times)
	c.last = c.times[len(c.times)-1]
	own := func(w *counter) int { // 0 sorts before 1
		if w.dc == at.origin {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(c.counters, func(x, y *counter) int { return cmp.Compare(own(x), own(y)) })
	return c
}

// run compares all minutes.
func (c *comparison) run(coverage map[[2]string]*Coverage) {
	for _, ms := range c.times {
		d := Difference{Shard: c.at.shard, Origin: c.at.origin, FromMs: ms, ToMs: ms + minuteMs, FirstOffset: -1}
		for _, w := range c.counters {
			if w.has(ms) {
				d.add(w.dc, w.at(ms))
			}
		}
		if len(d.Sides) < 2 {
			c.close(coverage, nil)
			continue
		}
		for i := range d.Sides {
			v := of(coverage, d.Sides[i].DC, c.at.origin)
			v.Minutes++
			v.Events += d.Sides[i].Events
		}
		switch {
		case d.equal():
			c.close(coverage, &d)
		case c.open != nil && c.open.join(&d):
		default:
			c.close(coverage, &d)
			c.open = &d
		}
	}
	c.close(coverage, nil)
}

// close ends the difference that is open. next is the minute behind it, nil at the end.
func (c *comparison) close(coverage map[[2]string]*Coverage, next *Difference) {
	d := c.open
	c.open = nil
	if d == nil || d.equal() {
		return
	}
	for i := range d.Sides {
		s := &d.Sides[i]
		if next != nil {
			if n := slices.IndexFunc(next.Sides, func(o Side) bool { return o.DC == s.DC }); n >= 0 {
				s.Lost += next.Sides[n].Lost
			}
		}
		others := 0 // that have read the same
		for j := range d.Sides {
			if j != i && s.Same(&d.Sides[j]) {
				others++
			}
		}
		if i == 0 && others == 0 || i > 0 && !s.Same(&d.Sides[0]) {
			of(coverage, s.DC, c.at.origin).Differs++
		}
	}
	c.found = append(c.found, *d)
}

// add adds a side. m is nil if the counter has no record of the minute.
func (d *Difference) add(dc string, m *minute) {
	if m == nil {
		d.Sides = append(d.Sides, Side{DC: dc})
		return
	}
	d.Sides = append(d.Sides, Side{DC: dc, Events: m.events, Micros: m.micros, Digest: m.digest, Lost: m.lost, Rejected: m.rejected})
	if d.FirstOffset < 0 || m.first < d.FirstOffset {
		d.FirstOffset = m.first
	}
	d.NextOffset = max(d.NextOffset, m.next)
}

// equal reports whether all sides have read the same events.
func (d *Difference) equal() bool {
	for i := range d.Sides {
		if !d.Sides[i].Same(&d.Sides[0]) {
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
