package plan

import (
	"fmt"
	"math"
	"time"

	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/events/eventspb"
)

// States of a region in a View and in LeaseHeadroom.
const (
	StateActive     = "active"
	StateEvacuating = "evacuating" // all free resources leave
	StateAdopted    = "adopted"    // lost: another region owns its resources
	StateSilent     = "silent"     // no fresh heartbeat: its counts are stale
	StateReading    = "reading"    // a scan of the table is in progress: the counts are incomplete
	StateOff        = "off"        // balancing is off in the pool's settings
)

// View is the state of a pool in a region: all that a plan is made from. Counts are resources.
type View struct {
	Region        string
	State         string  // one of the states; empty: active
	LagMs         int64   // replication lag to it; negative if unknown
	Free          int64   // available now
	ReturningSoon int64   // available within seconds; a part of Returning
	Returning     int64   // available within the horizon
	Leased        int64   // leased now
	InTransit     int64   // in transit to it
	Outbound      int64   // in outbound transfers, still counted in Free
	Need          int64   // new leases expected within the horizon, with a margin
	Rate          float64 // forecast of new leases per second
	Recent        float64 // new leases per second in the last seconds; 0 means Rate
	Floor         int64   // free resources that it never gives away
	Horizon       int64   // ms
}

// ViewOf returns the view that a record of lease.headroom has.
func ViewOf(h *eventspb.LeaseHeadroom) View {
	return View{
		Region: h.Region, State: h.State, LagMs: h.LagMs, Free: h.Free, Returning: h.Returning, Leased: h.Leased, InTransit: h.InTransit,
		Outbound: h.Outbound, Need: h.Need, Rate: h.Rate, Recent: h.Rate, Floor: h.Floor, Horizon: h.HorizonMs,
	}
}

// stock returns what the region has when all transfers have arrived.
func (v *View) stock() int64 { return max(0, v.Free-v.Outbound) + v.InTransit }

// held returns the part of stock that is in the region now.
func (v *View) held() int64 { return max(0, v.Free-v.Outbound) }

// demandRate returns the demand a second: the forecast, or the recent rate if that is greater.
func (v *View) demandRate() float64 { return max(0, v.Rate, v.Recent) }

// want returns how many free resources the region should have: the need within the horizon less
// what returns by then, and at least what lasts for Cover, because returns are spread over the
// horizon.
func (v *View) want(lim *Limits) int64 {
	return max(0, v.Need-v.Returning, Count(v.demandRate()*v.cover(lim).Seconds()))
}

// Short reports whether an active region lacks more than the dead band of what it should have.
func (v *View) Short(lim Limits) bool {
	lim.setDefaults()
	want := v.want(&lim)
	return v.State == StateActive && want-v.stock() > lim.band(want)
}

// With a short horizon, cover and low water are shares of it. Low water is never less than a
// transfer takes: 2 s to detect, decide and carry out, 3 s of quarantine, and a reserve because a
// burst is underestimated in its first seconds.
const (
	coverShare, minCover  = 5, 16 * time.Second
	lowShare, minLowWater = 20, 8 * time.Second
)

func (v *View) horizon() time.Duration {
	if v.Horizon == 0 {
		return forecast.DefaultHorizon
	}
	return time.Duration(v.Horizon) * time.Millisecond
}

// cover returns Limits.Cover, bounded for the view's horizon.
func (v *View) cover(lim *Limits) time.Duration {
	return min(lim.Cover, max(minCover, v.horizon()/coverShare))
}

// low returns Limits.LowWater, bounded for the view's horizon.
func (v *View) low(lim *Limits) time.Duration {
	return min(lim.LowWater, max(minLowWater, v.horizon()/lowShare))
}

// mayReceive returns why resources may not be sent to the region; empty if they may.
func (v *View) mayReceive(lim *Limits) (why string) {
	switch {
	case v.State != "" && v.State != StateActive:
		return v.why()
	case v.LagMs < 0:
		return "its replication lag is unknown"
	case v.LagMs > lim.MaxLag.Milliseconds():
		return fmt.Sprintf("its replication lag is %.1f s, above the limit of %.1f s", float64(v.LagMs)/1000, lim.MaxLag.Seconds())
	}
	return ""
}

// why returns what a region's state means for moves.
func (v *View) why() string {
	switch v.State {
	case StateEvacuating:
		return "it is being evacuated"
	case StateAdopted:
		return "another region adopted it"
	case StateSilent:
		return "it has no fresh heartbeat"
	case StateReading:
		return "a scan of the table is in progress"
	case StateOff:
		return "balancing is switched off for the pool"
	default:
		return fmt.Sprintf("its state is %q", v.State)
	}
}

// Count rounds f up to a number of resources, bounded so that an invalid forecast cannot overflow.
func Count(f float64) int64 {
	const most = 1 << 40
	if !(f > 0) {
		return 0
	}
	return int64(math.Ceil(min(f, most)))
}
