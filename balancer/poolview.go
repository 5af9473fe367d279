package balancer

import "github.com/weirhq/weir/balancer/plan"

// Values of LeasePool.balance. An empty value is "on".
const (
	balanceOn  = "on"
	balanceOff = "off"
)

// refreshViews advances the counts of a pool to now, and returns its views.
func (b *Balancer) refreshViews(p *pool, now *tick) []plan.View {
	b.expireTransfers(p, now.ms)
	views := make([]plan.View, len(p.regions))
	for i := range p.regions {
		s, r := &p.regions[i], &b.regions[i]
		s.advance(now.ms)
		// Only the clock of the region shows that no arrival is missing: the stream may be behind.
		if r.clockMs > 0 && !s.series.Empty() && s.series.Advance(r.clockMs, s.profile) {
			b.touch(s)
		}
		views[i] = b.view(p, i, now)
	}
	return views
}

// view returns the view of a pool in region i.
func (b *Balancer) view(p *pool, i int, now *tick) plan.View {
	s, horizon := &p.regions[i], p.horizon()
	v := plan.View{
		Region: b.cfg.Regions[i], State: b.state(p, now, i), LagMs: now.lags[i], Free: max(0, s.free-s.excluded), Leased: s.leases,
		ReturningSoon: s.freeLater.between(0, (now.ms+nearWindow.Milliseconds())/freeGrain), InTransit: s.inTransit, Outbound: s.outbound,
		Recent: s.series.Recent(now.ms), Floor: p.settings.Floors[b.cfg.Regions[i]], Horizon: horizon,
	}
	var spread float64
	v.Rate, spread = s.series.Forecast(p.method, s.profile)
	v.Need = plan.Count((v.Rate + b.cfg.Margin*spread) * float64(horizon) / 1000)
	// A lease that ends and is not renewed is one resource more after the quarantine. A lease that
	// ended a minute ago and is still counted was not released; its release cannot be predicted.
	q := p.settings.QuarantineMs
	ends := s.leased.between((now.ms-q-60_000)/leasedGrain, (now.ms+horizon-q)/leasedGrain-1)
	v.Returning = s.freeLater.between(0, (now.ms+horizon)/freeGrain) + int64(b.cfg.ReturnShare*float64(ends))
	return v
}

// state returns a region's state for a pool.
func (b *Balancer) state(p *pool, now *tick, i int) string {
	switch s := now.states[i]; {
	case s != plan.StateActive && s != plan.StateEvacuating:
		return s
	case p.settings.Balance == balanceOff:
		return plan.StateOff
	case p.readMs > 0 && now.ms-p.readMs < scanQuiet.Milliseconds():
		return plan.StateReading
	default:
		return s
	}
}
