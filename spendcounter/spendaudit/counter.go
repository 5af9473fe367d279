package spendaudit

import (
	"cmp"
	"slices"
)

const minuteMs = 60_000

// counter is what one counter has of a series.
type counter struct {
	dc   string
	list []minute // in order
	runs []run
}

// run is a range of minutes that a counter has read without a gap. A minute of it without a record
// had no record of the origin.
type run struct{ from, to int64 }

// newCounter returns the minutes of a counter, each once: those of a newer state replace those of
// an older one from its first minute on.
func newCounter(dc string, list []minute) *counter {
	slices.SortFunc(list, func(x, y minute) int {
		return cmp.Or(cmp.Compare(x.incarnation, y.incarnation), cmp.Compare(x.ms, y.ms), cmp.Compare(x.epoch, y.epoch),
			cmp.Compare(x.sequence, y.sequence))
	})
	c := &counter{dc: dc}
	for i := range list { // from old to new
		m := &list[i]
		for n := len(c.list); n > 0 && c.list[n-1].ms >= m.ms; n-- {
			c.list = c.list[:n-1]
		}
		c.list = append(c.list, *m)
	}
	// A state begins within a minute. It may have events in the next one that others have in the
	// first one: they have seen a greater ingest time before.
	for i := range c.list {
		m := &c.list[i]
		switch {
		case m.begins:
			c.runs = append(c.runs, run{m.ms + 2*minuteMs, m.ms})
		case i == 0:
			c.runs = append(c.runs, run{m.ms, m.ms})
		}
		c.runs[len(c.runs)-1].to = m.ms
	}
	return c
}

// has reports whether the counter has read the events of a whole minute, which may be none.
func (c *counter) has(ms int64) bool {
	return slices.ContainsFunc(c.runs, func(r run) bool { return r.from <= ms && ms <= r.to })
}

// at returns the record of a minute, nil for a minute without one.
func (c *counter) at(ms int64) *minute {
	i, ok := slices.BinarySearchFunc(c.list, ms, func(m minute, ms int64) int { return cmp.Compare(m.ms, ms) })
	if !ok {
		return nil
	}
	return &c.list[i]
}
