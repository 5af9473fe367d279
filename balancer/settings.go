package balancer

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

// foldSettings takes the settings of a pool.
func (b *Balancer) foldSettings(c *eventspb.LeaseChange, m *eventspb.LeasePool) refusal {
	if bad := checkPool(c); bad.reason != "" {
		return bad
	}
	_, known := MethodOf(m.Forecast)
	switch {
	case m.Version <= 0:
		return refusal{ReasonBadVersion, fmt.Sprintf("version %d of the settings of pool %q", m.Version, c.Pool)}
	case m.Balance != "" && m.Balance != "on" && m.Balance != "off":
		return refusal{ReasonBadState, fmt.Sprintf("balance %q: use on or off", m.Balance)}
	case m.Forecast != "" && m.Forecast != "auto" && !known:
		return refusal{ReasonBadState, fmt.Sprintf("forecast %q: use auto, ewma, holt or seasonal", m.Forecast)}
	case m.QuarantineMs < 0 || m.QuarantineMs > maxTime:
		return refusal{ReasonBadTime, fmt.Sprintf("a quarantine of %d ms", m.QuarantineMs)}
	}
	for region, n := range m.Floors {
		if n < 0 {
			return refusal{ReasonBadState, fmt.Sprintf("a floor of %d in region %q", n, region)}
		}
	}
	p := b.pool(c.Client, c.Pool)
	if m.Version <= p.settings.Version {
		return refusal{}
	}
	proto.Reset(&p.settings)
	if p.settings.Version = m.Version; !c.Gone {
		proto.Merge(&p.settings, m)
	}
	p.changed = true
	return refusal{}
}

// foldRegion takes the settings of a region. A swing moves forecasts at once; the traffic will follow.
func (b *Balancer) foldRegion(c *eventspb.LeaseChange, m *eventspb.LeaseRegion) refusal {
	i := b.region(m.Region)
	switch {
	case i < 0:
		return refusal{ReasonUnknownRegion, fmt.Sprintf("settings of region %q, which is not among the declared", m.Region)}
	case m.Version <= 0:
		return refusal{ReasonBadVersion, fmt.Sprintf("version %d of the settings of region %q", m.Version, m.Region)}
	case m.SwingTo != "" && (b.region(m.SwingTo) < 0 || m.SwingTo == m.Region):
		return refusal{ReasonUnknownRegion, fmt.Sprintf("region %q swings to %q, which is no other of the declared", m.Region, m.SwingTo)}
	case m.SwingPercent < 0 || m.SwingPercent > 100:
		return refusal{ReasonBadState, fmt.Sprintf("a swing of %d %%", m.SwingPercent)}
	case m.State != "" && m.State != StateActive && m.State != StateEvacuating && m.State != StateAdopted:
		return refusal{ReasonBadState, fmt.Sprintf("state %q of region %q: use active, evacuating or adopted", m.State, m.Region)}
	}
	r := &b.regions[i]
	if m.Version <= r.settings.Version {
		return refusal{}
	}
	if c.Gone { // as one that nobody has said anything of
		m = &eventspb.LeaseRegion{Region: m.Region, Version: m.Version}
	}
	if m.SwingTo != r.settings.SwingTo || m.SwingPercent != r.settings.SwingPercent {
		b.swing(i, m)
	}
	proto.Reset(&r.settings)
	proto.Merge(&r.settings, m)
	r.changed = true
	return refusal{}
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
