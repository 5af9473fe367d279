package balancer

import (
	"fmt"
	"math"

	"github.com/weirhq/weir/events/eventspb"
)

// tell gives out how a pool stands in each region, if it changed and not too often, and seldom if not: most of ten thousand pools
// are as they were, and each row of the table costs a write in each region. A region that is silent gets none: what is known of it is
// no news, it would wait for the executor by the thousands, and agents there count by themselves when the last row is too old.
func (b *Balancer) tell(p *pool, views []View, now *moment) {
	for i := range views {
		s := &p.sites[i]
		age := int64(math.MaxInt64)
		if s.told != nil {
			age = now.ms - s.told.AsOfMs
		}
		if age < 0 || age >= headroomEvery.Milliseconds() {
			h := b.headroom(p, i, &views[i], now)
			if age < 0 || age >= headroomAtAll.Milliseconds() || differs(h, s.told) {
				s.told, s.due = h, true
				b.emit(OutputHeadroom, joined(p.key, h.Region), h)
				b.touch(s)
			}
		}
		since := now.ms - s.commandedMs
		if s.due && now.states[i] != StateAdopted && now.states[i] != StateSilent && (since < 0 || since >= tableEvery.Milliseconds()) {
			s.due, s.commandedMs = false, now.ms
			b.touch(s)
			b.send(i, p, &eventspb.LeaseCommand{
				Id:     fmt.Sprintf("headroom-%x", now.ms),
				Client: p.client, Pool: p.name, Region: views[i].Region, By: "balancer", DecidedMs: now.ms,
				NotAfterMs: now.ms + headroomAtAll.Milliseconds(), Command: &eventspb.LeaseCommand_Headroom{Headroom: s.told},
			})
		}
	}
}

func (b *Balancer) headroom(p *pool, i int, v *View, now *moment) *eventspb.LeaseHeadroom {
	s := &p.sites[i]
	rate, spread := s.series.Forecast(p.method, s.profile)
	return &eventspb.LeaseHeadroom{
		Client: p.client, Pool: p.name, Region: v.Region, AsOfMs: now.ms, Free: v.Free, Soon: v.Soon, Leased: v.Leased,
		Coming: v.Coming, Leaving: v.Leaving, Need: v.Need, HorizonMs: v.Horizon, Rate: rate, Spread: spread,
		Forecast: p.method.String(), Floor: v.Floor, Refused: s.refusals(now.ms), State: v.State, LagMs: v.LagMs,
	}
}

// differs says whether a figure tells anything new. What is a matter of time alone does not: a forecast's last digits, what
// is left of it, less than half a lease within the horizon, long after the last lease, and a lag that grows and grows.
func differs(a, b *eventspb.LeaseHeadroom) bool {
	if b == nil {
		return true
	}
	near := func(x, y, least float64) bool { return math.Abs(x-y) <= max(least, 0.02*max(math.Abs(x), math.Abs(y))) }
	half := 500 / max(1, float64(a.HorizonMs))
	return a.Free != b.Free || a.Soon != b.Soon || a.Leased != b.Leased || a.Coming != b.Coming || a.Leaving != b.Leaving ||
		!near(float64(a.Need), float64(b.Need), 0) || !near(a.Rate, b.Rate, half) || !near(a.Spread, b.Spread, half) || a.Forecast != b.Forecast ||
		a.Floor != b.Floor || a.Refused != b.Refused || a.State != b.State ||
		(a.LagMs < 0) != (b.LagMs < 0) || max(a.LagMs-b.LagMs, b.LagMs-a.LagMs) > max(1000, a.LagMs/2, b.LagMs/2)
}
