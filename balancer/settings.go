package balancer

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
)

// foldSettings applies the settings of a pool.
func (b *Balancer) foldSettings(c *changes.Change, m *eventspb.LeasePool) {
	p := b.pool(c.Client, c.Pool)
	if m.Version <= p.settings.Version {
		return
	}
	proto.Reset(&p.settings)
	if p.settings.Version = m.Version; !c.Gone {
		proto.Merge(&p.settings, m)
	}
	p.changed = true
}

// foldRegion applies the settings of a region. A swing moves forecasts at once, before the traffic
// moves.
func (b *Balancer) foldRegion(c *changes.Change, m *eventspb.LeaseRegion) {
	i := b.region(m.Region)
	r := &b.regions[i]
	if m.Version <= r.settings.Version {
		return
	}
	if c.Gone { // deleted: the defaults apply
		m = &eventspb.LeaseRegion{Region: m.Region, Version: m.Version}
	}
	if m.SwingTo != r.settings.SwingTo || m.SwingPercent != r.settings.SwingPercent {
		b.swing(i, m)
	}
	b.noteAdoption(c, &r.settings, m)
	proto.Reset(&r.settings)
	proto.Merge(&r.settings, m)
	r.changed = true
}

// noteAdoption adds an entry to the journal if a region is adopted, or active again. All partitions
// have the row of a region: one adds the entry. A region whose first row is adopted was adopted
// before this state began.
func (b *Balancer) noteAdoption(c *changes.Change, old, m *eventspb.LeaseRegion) {
	if b.task.Partition != 0 || old.Version == 0 || c.Gone || (old.State == plan.StateAdopted) == (m.State == plan.StateAdopted) {
		return
	}
	n := &eventspb.LeaseJournalEntry{
		AtMs: c.AtMs, By: "balancer", Kind: "readmit", From: m.Region,
		Text: fmt.Sprintf("%s is active again; the resources that %s adopted stay there", m.Region, old.AdoptedBy),
	}
	if m.State == plan.StateAdopted {
		n.Kind, n.To = "adopt", m.AdoptedBy
		n.Text = fmt.Sprintf(
			"%s adopts the resources of %s, which is lost: each can be leased again after the longest lease of its pool and a quarantine",
			m.AdoptedBy, m.Region)
	}
	b.emit(events.LeaseJournalTopic, joinNames("", ""), n)
}

// swing undoes the swing that was, and makes the one that is to be, in every pool.
func (b *Balancer) swing(i int, m *eventspb.LeaseRegion) {
	old, to := b.region(b.regions[i].settings.SwingTo), b.region(m.SwingTo)
	for _, p := range b.order {
		from := &p.regions[i]
		if old >= 0 {
			forecast.SwingBack(&from.series, &p.regions[old].series)
			b.touch(&p.regions[old])
		}
		if to >= 0 {
			forecast.Swing(&from.series, &p.regions[to].series, float64(m.SwingPercent)/100)
			b.touch(&p.regions[to])
		}
		b.touch(from)
	}
}
