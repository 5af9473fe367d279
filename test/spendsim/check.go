package spendsim

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// checkHealth is the checker HEALTH.
func (w *simulation) checkHealth(r *reader, d *copied, h *eventspb.SpendHistogram, rows []*eventspb.Spend) {
	var states, sum int64
	newer := false
	for _, o := range h.Origins {
		states += o.CumulativeMicros
	}
	for _, s := range rows {
		if s.Incarnation < h.Incarnation {
			w.fail("HEALTH", "the reader of %s has a row of %s of a state that was deleted", names[r.dc], names[d.dc])
		}
		sum += charged(s)
		newer = newer || events.CompareVersions(s, h) > 0
	}
	if sum < states || sum > states && !newer {
		w.fail("HEALTH", "the reader of %s has rows of %s with %d micros, the health row states %d", names[r.dc], names[d.dc], sum, states)
	}
}

// stoppedMs is how long the dataset of a counter that writes nothing may be chosen.
const stoppedMs = 40_000

// checkAnswer is the checkers CHARGED and STOPPED.
func (w *simulation) checkAnswer(r *reader, d *selection.Decision) {
	for p := range policies {
		if got, most := r.answer.spent[p], int64(w.truth[p])*price; got > most {
			w.fail("CHARGED", "the reader of %s answers %d micros for %v, %d were charged", names[r.dc], got, p, most)
		}
	}
	if d.Mode == selection.Normal && w.now-w.dcs[r.answer.dc].counter.wroteAt > stoppedMs {
		w.fail("STOPPED", "the reader of %s uses the dataset of %s, which was written at %d ms", names[r.dc], d.DC,
			w.dcs[r.answer.dc].counter.wroteAt)
	}
	if d.Switched() && d.From != "" {
		w.history.Marks["switched"]++
	}
	w.history.Marks[d.Mode.String()]++
}

// checkEnd checks what holds after all faults have ended and all has settled.
func (w *simulation) checkEnd() {
	for i, d := range w.dcs {
		for _, m := range d.mirrors {
			w.checkCopied(m)
		}
		w.checkLost(i, d)
		if got, want := rowsOf(d.counter), w.recount(i); got != want {
			w.fail("CONVERGED", "the dataset of %s is\n%swant\n%s", names[i], got, want)
		}
		for _, c := range d.reader.datasets {
			w.checkCopy(i, c)
		}
		w.checkReturned(i, d)
	}
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
	h := d.reader.datasets[0].health()
	for _, m := range d.mirrors {
		if m.adjustments {
			continue
		}
		i := slices.IndexFunc(h.GetOrigins(), func(o *eventspb.OriginHealth) bool { return o.Dc == names[m.origin] })
		if i < 0 {
			w.fail("LOST", "the counter of %s has nothing of %s", names[dc], names[m.origin])
			continue
		}
		if got := h.Origins[i].Lost; (got > 0) != (len(m.lost) > 0) || got < uint64(len(m.lost)) {
			w.fail("LOST", "the counter of %s reports %d lost records of %s, %d were lost", names[dc], got, names[m.origin], len(m.lost))
		}
		if len(m.lost) > 0 {
			w.history.Marks["copies lost"]++
		}
	}
}

// checkCopy is the part of CONVERGED for the datasets that a reader has.
func (w *simulation) checkCopy(reader int, d *copied) {
	tables := w.dcs[d.dc].counter.tables
	want := map[string][]byte{}
	for _, table := range spendcounter.DatasetTables() {
		for k, v := range tables[table] {
			want[string(rune(table))+k] = v
		}
	}
	rows := maps.Clone(d.rows)
	for _, m := range []map[string][]byte{want, rows} { // the health row changes every second
		maps.DeleteFunc(m, func(k string, _ []byte) bool { return strings.HasPrefix(k, healthTable) })
	}
	if !maps.EqualFunc(want, rows, bytes.Equal) {
		w.fail("CONVERGED", "the reader of %s has other rows of %s than its counter", names[reader], names[d.dc])
	}
}

// checkReturned is the checker RETURNED.
func (w *simulation) checkReturned(dc int, d *datacentre) {
	lost := map[int]uint64{}
	least := ^uint64(0)
	for _, c := range d.reader.datasets {
		for _, o := range c.health().GetOrigins() {
			lost[c.dc] += o.Lost
		}
		least = min(least, lost[c.dc])
	}
	a := d.reader.answer
	switch {
	case a.mode != selection.Normal:
		w.fail("RETURNED", "the reader of %s is %v", names[dc], a.mode)
	case lost[dc] == least && a.dc != dc:
		w.fail("RETURNED", "the reader of %s uses the dataset of %s", names[dc], names[a.dc])
	case lost[a.dc] > least:
		w.fail("RETURNED", "the reader of %s uses the dataset of %s, which has lost %d records", names[dc], names[a.dc], lost[a.dc])
	}
}

// rowsOf returns the spend of a counter as text.
func rowsOf(c *counter) string {
	var lines []string
	for _, value := range c.tables[spendcounter.TableSpend] {
		s := &eventspb.Spend{}
		c.w.decode(value, s)
		for _, by := range s.ByDc {
			clicks := uint64(0)
			for _, n := range by.Events {
				clicks += n.Count
			}
			lines = append(lines, line(s.Campaign, by.ServingDc, [3]int64{by.ChargedMicros, by.RefundedMicros, int64(clicks)}))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func line(campaign, dc string, sums [3]int64) string {
	return fmt.Sprintf("%s %s: charged %d, refunded %d, %d clicks\n", campaign, dc, sums[0], sums[1], sums[2])
}

// recount counts all records that the counter of a datacentre could have.
func (w *simulation) recount(dc int) string {
	sums := map[[2]string]*[3]int64{}
	of := func(campaign, dc string) *[3]int64 {
		if sums[[2]string{campaign, dc}] == nil {
			sums[[2]string{campaign, dc}] = &[3]int64{}
		}
		return sums[[2]string{campaign, dc}]
	}
	seen := map[string]bool{}
	count := func(rec *stream.Record) {
		e := &eventspb.AdEvent{}
		w.decode(rec.Value, e)
		if e.Type == eventspb.EventType_EVENT_TYPE_HEARTBEAT || seen[e.EventId] {
			return
		}
		seen[e.EventId] = true
		s := of(e.Campaign, e.ServingDc)
		s[0], s[2] = s[0]+e.PriceMicros, s[2]+1
	}
	for o, d := range w.dcs {
		lost := map[int64]bool{}
		for _, m := range w.dcs[dc].mirrors {
			if m.origin == o && !m.adjustments {
				lost = m.lost
			}
		}
		for i := range d.events.entries {
			if !lost[d.events.entries[i].Offset] {
				count(&d.events.entries[i].Record)
			}
		}
		for i := range d.adjustments.entries {
			a := &eventspb.Adjustment{}
			w.decode(d.adjustments.entries[i].Value, a)
			of(a.Campaign, a.ServingDc)[1] += a.Micros
		}
	}
	var lines []string
	for k, s := range sums {
		lines = append(lines, line(k[0], k[1], *s))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
