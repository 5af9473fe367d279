package balancer

import (
	"fmt"
	"math"

	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// publishHeadroom publishes a pool's headroom in each region: soon if it changed, rarely if not.
// Most of ten thousand pools are unchanged, and each row of the table costs a write in each region.
// No row is written for a silent region: its counts are stale, the commands would wait for its
// executor by the thousands, and agents there count by themselves when the last row is too old.
func (b *Balancer) publishHeadroom(p *pool, views []plan.View, now *tick) {
	for i := range views {
		s := &p.regions[i]
		age := int64(math.MaxInt64)
		if s.published != nil {
			age = now.ms - s.published.AsOfMs
		}
		if age < 0 || age >= headroomInterval.Milliseconds() {
			h := b.headroom(p, i, &views[i], now)
			if age < 0 || age >= headroomMaxAge.Milliseconds() || differs(h, s.published) {
				s.published, s.tableStale = h, true
				b.emit(events.LeaseHeadroomTopic, joinNames(p.key, h.Region), h)
				b.touch(s)
			}
		}
		since := now.ms - s.commandedMs
		if s.tableStale && now.states[i] != plan.StateAdopted && now.states[i] != plan.StateSilent &&
			(since < 0 || since >= tableInterval.Milliseconds()) {
			s.tableStale, s.commandedMs = false, now.ms
			b.touch(s)
			b.send(i, p, &eventspb.LeaseCommand{
				Id:     fmt.Sprintf("headroom-%x", now.ms),
				Client: p.client, Pool: p.name, Region: views[i].Region, By: "balancer", DecidedMs: now.ms,
				NotAfterMs: now.ms + headroomMaxAge.Milliseconds(), Command: &eventspb.LeaseCommand_Headroom{Headroom: s.published},
			})
		}
	}
}

func (b *Balancer) headroom(p *pool, i int, v *plan.View, now *tick) *eventspb.LeaseHeadroom {
	s := &p.regions[i]
	rate, spread := s.series.Forecast(p.method, s.profile)
	return &eventspb.LeaseHeadroom{
		Client: p.client, Pool: p.name, Region: v.Region, AsOfMs: now.ms, Free: v.Free, Returning: v.Returning, Leased: v.Leased,
		InTransit: v.InTransit, Outbound: v.Outbound, Need: v.Need, HorizonMs: v.Horizon, Rate: rate, Spread: spread,
		Forecast: p.method.String(), Floor: v.Floor, Refused: s.refusals(now.ms), State: v.State, LagMs: v.LagMs,
	}
}

// differs reports whether a headroom differs enough to be published. Changes by time alone do not
// count: the last digits of a forecast, a forecast of less than half a lease within the horizon
// long after the last lease, and a growing lag.
func differs(a, b *eventspb.LeaseHeadroom) bool {
	if b == nil {
		return true
	}
	near := func(x, y, least float64) bool { return math.Abs(x-y) <= max(least, 0.02*max(math.Abs(x), math.Abs(y))) }
	half := 500 / max(1, float64(a.HorizonMs))
	return a.Free != b.Free || a.Returning != b.Returning || a.Leased != b.Leased || a.InTransit != b.InTransit ||
		a.Outbound != b.Outbound ||
		!near(float64(a.Need), float64(b.Need), 0) || !near(a.Rate, b.Rate, half) || !near(a.Spread, b.Spread, half) ||
		a.Forecast != b.Forecast ||
		a.Floor != b.Floor || a.Refused != b.Refused || a.State != b.State ||
		(a.LagMs < 0) != (b.LagMs < 0) || max(a.LagMs-b.LagMs, b.LagMs-a.LagMs) > max(1000, a.LagMs/2, b.LagMs/2)
}
