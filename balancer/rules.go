package balancer

import (
	"maps"
	"slices"

	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
	"github.com/weirhq/weir/stream"
)

// rules returns the checks of the rows that the balancer uses.
func (c *Config) rules() changes.Rules {
	return changes.Rules{
		Change: []changes.Rule[*eventspb.LeaseChange]{c.streamDeclared, writtenByNow},
		Resource: []changes.Rule[*eventspb.LeaseResource]{
			changes.ResourceVersion, changes.ExpiresWithin(maxTime), changes.AvailableWithin(maxTime), changes.HeldOrAvailable,
			changes.UnlessDeleted(changes.OwnerDeclared(c.declared)),
		},
		Settings: []changes.Rule[*eventspb.LeasePool]{
			changes.SettingsVersion, knownBalance, knownForecast, changes.QuarantineWithin(maxTime), floorsNotNegative,
		},
		Demand:    []changes.Rule[*eventspb.LeaseDemand]{c.validDemand},
		Region:    []changes.Rule[*eventspb.LeaseRegion]{c.regionDeclared, regionVersion, c.validSwing, knownRegionState},
		Heartbeat: []changes.Rule[*eventspb.LeaseHeartbeat]{c.senderDeclared, heartbeatTimes},
	}
}

func (c *Config) declared(region string) bool { return slices.Contains(c.Regions, region) }

func (c *Config) streamDeclared(_ *changes.Change, m *eventspb.LeaseChange) error {
	if !c.declared(m.Region) {
		return stream.Rejectf(changes.ReasonUnknownRegion, "the change is from the stream of region %q, which is not declared", m.Region)
	}
	return nil
}

// writtenByNow requires a time of writing that is not after the record. Forecasts use this time:
// one change of the far future would age all others.
func writtenByNow(c *changes.Change, m *eventspb.LeaseChange) error {
	if m.AtMs <= 0 || m.AtMs > maxTime || m.AtMs > c.RecordMs+maxAhead.Milliseconds() {
		return stream.Rejectf(changes.ReasonBadTime,
			"the change has the time %d, its record %d: a change may be at most %s later than its record", m.AtMs, c.RecordMs, maxAhead)
	}
	return nil
}

func knownBalance(_ *changes.Change, p *eventspb.LeasePool) error {
	switch p.Balance {
	case "", balanceOn, balanceOff:
		return nil
	}
	return stream.Rejectf(changes.ReasonBadSettings, "balance %q: use on or off", p.Balance)
}

func knownForecast(_ *changes.Change, p *eventspb.LeasePool) error {
	if _, known := forecast.ParseMethod(p.Forecast); p.Forecast != "" && p.Forecast != "auto" && !known {
		return stream.Rejectf(changes.ReasonBadSettings, "forecast %q: use auto, ewma, holt or seasonal", p.Forecast)
	}
	return nil
}

func floorsNotNegative(_ *changes.Change, p *eventspb.LeasePool) error {
	for _, region := range slices.Sorted(maps.Keys(p.Floors)) {
		if n := p.Floors[region]; n < 0 {
			return stream.Rejectf(changes.ReasonBadSettings, "a floor of %d in region %q: use 0 or more", n, region)
		}
	}
	return nil
}

func (c *Config) validDemand(_ *changes.Change, d *eventspb.LeaseDemand) error {
	switch {
	case !c.declared(d.Region):
		return stream.Rejectf(changes.ReasonUnknownRegion, "demand in region %q, which is not declared", d.Region)
	case d.Refused < 0 || d.Refused > maxTime:
		return stream.Rejectf(changes.ReasonBadState, "%d keys were refused: 0 to %d are allowed", d.Refused, int64(maxTime))
	}
	return nil
}

func (c *Config) regionDeclared(_ *changes.Change, r *eventspb.LeaseRegion) error {
	if !c.declared(r.Region) {
		return stream.Rejectf(changes.ReasonUnknownRegion, "settings of region %q, which is not declared", r.Region)
	}
	return nil
}

func regionVersion(_ *changes.Change, r *eventspb.LeaseRegion) error {
	return changes.CheckVersion(r.Version, "region", r.Region)
}

func (c *Config) validSwing(_ *changes.Change, r *eventspb.LeaseRegion) error {
	switch {
	case r.SwingTo != "" && (!c.declared(r.SwingTo) || r.SwingTo == r.Region):
		return stream.Rejectf(changes.ReasonUnknownRegion, "traffic of region %q moves to %q: use another declared region", r.Region,
			r.SwingTo)
	case r.SwingPercent < 0 || r.SwingPercent > 100:
		return stream.Rejectf(changes.ReasonBadState, "%d %% of the traffic of region %q move: 0 to 100 are allowed", r.SwingPercent,
			r.Region)
	}
	return nil
}

func knownRegionState(_ *changes.Change, r *eventspb.LeaseRegion) error {
	switch r.State {
	case "", plan.StateActive, plan.StateEvacuating, plan.StateAdopted:
		return nil
	}
	return stream.Rejectf(changes.ReasonBadState, "state %q of region %q: use active, evacuating or adopted", r.State, r.Region)
}

func (c *Config) senderDeclared(_ *changes.Change, h *eventspb.LeaseHeartbeat) error {
	if !c.declared(h.From) {
		return stream.Rejectf(changes.ReasonUnknownRegion, "heartbeat of region %q, which is not declared", h.From)
	}
	return nil
}

func heartbeatTimes(c *changes.Change, h *eventspb.LeaseHeartbeat) error {
	latest := min(maxTime, c.RecordMs+maxAhead.Milliseconds())
	if h.WrittenMs < 0 || h.WrittenMs > latest || h.SeenMs < 0 || h.SeenMs > maxTime || h.LagMs < 0 {
		return stream.Rejectf(changes.ReasonBadTime, "heartbeat written at %d, seen at %d, with a lag of %d ms: the record has the time %d",
			h.WrittenMs, h.SeenMs, h.LagMs, c.RecordMs)
	}
	return nil
}
