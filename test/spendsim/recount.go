package spendsim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter"
)

// order is the rule of package spendcounter for events that are late, for the events of one origin
// in the order of their log. Late events are charged, and not checked for duplicates.
type order struct {
	watermark int64 // greatest ingest time
}

// duplicateWindowMs is the default of spendcounter.Config.
const duplicateWindowMs = 600_000

// late takes the next event, and reports whether it is late.
func (o *order) late(e *eventspb.AdEvent) bool {
	late := e.EventMs < e.IngestMs-duplicateWindowMs || e.IngestMs < o.watermark-outOfOrderness.Milliseconds()
	o.watermark = max(o.watermark, e.IngestMs)
	return late && e.Type != eventspb.EventType_EVENT_TYPE_HEARTBEAT
}

// recount counts all records that the counter of a datacentre could have, in a simple way.
type recount struct {
	w          *simulation
	dc         int
	serving    map[servingKey]*servingSums
	duplicates map[string]int // by campaign
	seen       map[string]bool
	late       int
}

type servingKey struct{ campaign, dc string }

// servingSums is the spend of a campaign in one serving datacentre.
type servingSums struct {
	spent
	events map[eventspb.EventType]uint64
}

// String returns the sums as text.
func (s *servingSums) String() string {
	text := fmt.Sprintf("charged %d, refunded %d", s.charged, s.refunded)
	for _, t := range slices.Sorted(maps.Keys(s.events)) {
		text += fmt.Sprintf(", %d of type %d", s.events[t], t)
	}
	return text
}

func newRecount(w *simulation, dc int) *recount {
	return &recount{w, dc, map[servingKey]*servingSums{}, map[string]int{}, map[string]bool{}, 0}
}

// all counts the own logs and the copies.
func (r *recount) all() {
	d := r.w.dcs[r.dc]
	r.log(&d.events, nil)
	r.log(&d.adjustments, nil)
	for _, m := range d.mirrors {
		r.log(m.source, m.lost)
	}
}

// log counts the records of a log, except those of lost copies.
func (r *recount) log(l *log, lost map[int64]bool) {
	o := order{}
	for i := range l.entries {
		x := &l.entries[i]
		switch {
		case lost[x.Offset]:
		case x.adjustment != nil:
			r.adjustment(x.adjustment)
		default:
			r.event(x.event, o.late(x.event))
		}
	}
}

func (r *recount) event(e *eventspb.AdEvent, late bool) {
	switch {
	case e.Type == eventspb.EventType_EVENT_TYPE_HEARTBEAT:
		return
	case late:
		r.late++
	case r.seen[e.EventId]:
		r.duplicates[e.Campaign]++
		return
	default:
		r.seen[e.EventId] = true
	}
	s := r.of(e.Campaign, e.ServingDc)
	s.charged += r.w.priceOf(r.dc, e)
	s.events[e.Type]++
}

func (r *recount) adjustment(a *eventspb.Adjustment) {
	if r.seen[a.ReferenceId] {
		r.duplicates[a.Campaign]++
		return
	}
	r.seen[a.ReferenceId] = true
	r.of(a.Campaign, a.ServingDc).refunded += a.Micros
}

func (r *recount) of(campaign, dc string) *servingSums {
	k := servingKey{campaign, dc}
	if r.serving[k] == nil {
		r.serving[k] = &servingSums{events: map[eventspb.EventType]uint64{}}
	}
	return r.serving[k]
}

// take counts the rows of a counter, and its statistics.
func (r *recount) take(c *counter) {
	for _, x := range c.rows {
		if x.spend == nil {
			continue
		}
		if n := int(x.spend.Duplicates); n > 0 {
			r.duplicates[x.spend.Campaign] = n
		}
		for _, by := range x.spend.ByDc {
			s := r.of(x.spend.Campaign, by.ServingDc)
			s.spent = spent{by.ChargedMicros, by.RefundedMicros}
			for _, n := range by.Events {
				s.events[n.Type] = n.Count
			}
		}
	}
	if c.real != nil {
		r.late = int(c.real.Stats().Late)
	}
}

// String returns all that was counted as text.
func (r *recount) String() string {
	lines := []string{fmt.Sprintf("%d late", r.late)}
	keys := slices.SortedFunc(maps.Keys(r.serving), func(a, b servingKey) int {
		return cmp.Or(cmp.Compare(a.campaign, b.campaign), cmp.Compare(a.dc, b.dc))
	})
	for _, k := range keys {
		lines = append(lines, fmt.Sprintf("%s in %s: %v", k.campaign, k.dc, r.serving[k]))
	}
	for _, campaign := range slices.Sorted(maps.Keys(r.duplicates)) {
		lines = append(lines, fmt.Sprintf("%s: %d duplicates", campaign, r.duplicates[campaign]))
	}
	return strings.Join(lines, "\n")
}

// differences returns the lines that only one of two recounts has.
func differences(got, want *recount) string {
	a, b := strings.Split(got.String(), "\n"), strings.Split(want.String(), "\n")
	var list []string
	for _, l := range a {
		if !slices.Contains(b, l) {
			list = append(list, "has "+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			list = append(list, "not "+l)
		}
	}
	return strings.Join(list, "\n")
}

// healthTable is how the keys of health rows begin.
const healthTable = string(rune(spendcounter.TableHealth))
