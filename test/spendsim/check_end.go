package spendsim

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache/selection"
)

// checkEnd checks what holds after all faults have ended and all has settled.
func (w *simulation) checkEnd() {
	for i, d := range w.dcs {
		for _, m := range d.mirrors {
			w.checkCopied(m)
		}
		w.checkLost(i, d)
		got, want := newRecount(w, i), newRecount(w, i)
		got.take(d.counter)
		if want.all(); got.String() != want.String() {
			w.fail("CONVERGED", "the counter of %s\n%s", names[i], differences(got, want))
		}
		for _, c := range d.reader.datasets {
			w.checkCopy(i, c)
		}
		w.checkReturned(i, d)
	}
	w.checkAudit()
	w.checkOverspend()
}

// checkCopied is the checker COPIED.
func (w *simulation) checkCopied(m *mirror) {
	want := slices.DeleteFunc(slices.Clone(m.source.entries), func(e entry) bool { return m.lost[e.Offset] })
	same := slices.EqualFunc(want, m.copies.entries, func(a, b entry) bool { return a.TimeMs == b.TimeMs && bytes.Equal(a.Value, b.Value) })
	if !same {
		w.fail("COPIED", "%s at %s has %d copies of %d records, or not in their order", m.copies.topic, names[m.to],
			len(m.copies.entries), len(want))
	}
}

// checkLost is the checker LOST.
func (w *simulation) checkLost(dc int, d *datacentre) {
	want := map[string]int64{}
	for _, m := range d.mirrors {
		want[names[m.origin]] += m.missing()
	}
	h := d.reader.datasets[0].health
	for _, origin := range slices.Sorted(maps.Keys(want)) {
		i := slices.IndexFunc(h.GetOrigins(), func(o *eventspb.OriginHealth) bool { return o.Dc == origin })
		if i < 0 {
			w.fail("LOST", "the counter of %s has nothing of %s", names[dc], origin)
		} else if got := h.Origins[i].Lost; got != uint64(want[origin]) {
			w.fail("LOST", "the counter of %s reports %d lost offsets of %s, %d were lost", names[dc], got, origin, want[origin])
		}
	}
}

// checkCopy is the part of CONVERGED for the datasets that a reader has.
func (w *simulation) checkCopy(reader int, d *copied) {
	want, got := maps.Clone(w.dcs[d.dc].counter.rows), maps.Clone(d.rows)
	for _, m := range []map[string]*row{want, got} { // the health row changes every second
		maps.DeleteFunc(m, func(k string, _ *row) bool { return strings.HasPrefix(k, healthTable) })
	}
	if !maps.EqualFunc(want, got, func(a, b *row) bool { return bytes.Equal(a.value, b.value) }) {
		w.fail("CONVERGED", "the reader of %s has other rows of %s than its counter", names[reader], names[d.dc])
	}
}

// checkReturned is the checker RETURNED.
func (w *simulation) checkReturned(dc int, d *datacentre) {
	lost := map[int]uint64{}
	least := ^uint64(0)
	for _, c := range d.reader.datasets {
		for _, o := range c.health.GetOrigins() {
			lost[c.dc] += o.Lost
		}
		least = min(least, lost[c.dc])
	}
	a := d.reader.answer
	switch {
	case a == nil || a.mode != selection.Normal:
		w.fail("RETURNED", "the reader of %s has no answer in normal mode", names[dc])
	case lost[dc] == least && a.dc != dc:
		w.fail("RETURNED", "the reader of %s uses the dataset of %s", names[dc], names[a.dc])
	case lost[a.dc] > least:
		w.fail("RETURNED", "the reader of %s uses the dataset of %s, which has lost %d records", names[dc], names[a.dc], lost[a.dc])
	}
}
