package balancer

import (
	"google.golang.org/protobuf/proto"

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
	proto.Reset(&r.settings)
	proto.Merge(&r.settings, m)
	r.changed = true
}

// swing undoes the swing that was, and makes the one that is to be, in every pool.
func (b *Balancer) swing(i int, m *eventspb.LeaseRegion) {
	old, to := b.region(b.regions[i].settings.SwingTo), b.region(m.SwingTo)
	for _, p := range b.order {
		from := &p.regions[i]
		if old >= 0 {
			SwingBack(&from.series, &p.regions[old].series)
			b.touch(&p.regions[old])
		}
		if to >= 0 {
			Swing(&from.series, &p.regions[to].series, float64(m.SwingPercent)/100)
			b.touch(&p.regions[to])
		}
		b.touch(from)
	}
}
