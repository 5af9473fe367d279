package balancer

import (
	"fmt"
	"math"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// States of a region, as a View and LeaseHeadroom have them.
const (
	StateActive     = "active"
	StateEvacuating = "evacuating" // all free resources are to leave
	StateAdopted    = "adopted"    // cut off: another region owns what it had
	StateSilent     = "silent"     // no fresh heartbeat: what is known of it is of the past
	StateReading    = "reading"    // the table is being read: not all that it has is known
	StateOff        = "off"        // the pool's settings switch balancing off
)

// View is how a pool stands in a region: all that a plan is made from. Counts are resources.
type View struct {
	Region        string
	State         string  // one of the states; empty: active
	LagMs         int64   // of replication to it; negative: not known
	Free          int64   // available now
	ReturningSoon int64   // available within seconds; a part of Soon
	Returning     int64   // known to become available within the horizon
	Leased        int64   //
	InTransit     int64   // on their way here
	Outbound      int64   // decided to leave, still counted in Free
	Need          int64   // new leases expected within the horizon, with a margin
	Rate          float64 // new leases a second, as forecast
	Recent        float64 // new leases a second, of the last seconds; 0: as Rate
	Floor         int64   // free resources that it never gives away
	Horizon       int64   // ms
}

// ViewOf is the view that the topic lease.headroom has of a pool in a region.
func ViewOf(h *eventspb.LeaseHeadroom) View {
	return View{
		Region: h.Region, State: h.State, LagMs: h.LagMs, Free: h.Free, Returning: h.Returning, Leased: h.Leased, InTransit: h.InTransit,
		Outbound: h.Outbound, Need: h.Need, Rate: h.Rate, Recent: h.Rate, Floor: h.Floor, Horizon: h.HorizonMs,
	}
}

// stock is what the region has once all that was decided has arrived.
func (v *View) stock() int64 { return max(0, v.Free-v.Outbound) + v.InTransit }

// held is the part of stock that is there.
func (v *View) held() int64 { return max(0, v.Free-v.Outbound) }

// demandRate is at how many a second resources are wanted now: by the forecast, or faster if they lately were.
func (v *View) demandRate() float64 { return max(0, v.Rate, v.Recent) }

// want is how many free resources the region should have: what it will need within the horizon less what comes back by
// itself until then, and in any case what lasts for Cover, as what comes back is spread over the horizon.
func (v *View) want(lim *Limits) int64 {
	return max(0, v.Need-v.Returning, ceil(v.demandRate()*v.cover(lim).Seconds()))
}

// Cover and low water are shares of the horizon, where that is short, and low water is never less than what is moved takes to
// arrive: some 2 s to be seen, decided and carried out, 3 s of rest, and what a burst is underestimated by in its first seconds.
const (
	coverShare, minCover  = 5, 16 * time.Second
	lowShare, minLowWater = 20, 8 * time.Second
)

func (v *View) horizon() time.Duration {
	if v.Horizon == 0 {
		return DefaultHorizon
	}
	return time.Duration(v.Horizon) * time.Millisecond
}

// cover is Limits.Cover, for the view's horizon.
func (v *View) cover(lim *Limits) time.Duration {
	return min(lim.Cover, max(minCover, v.horizon()/coverShare))
}

// low is Limits.Low, for the view's horizon.
func (v *View) low(lim *Limits) time.Duration {
	return min(lim.LowWater, max(minLowWater, v.horizon()/lowShare))
}

// mayReceive says whether resources may be sent to the region; if not, why.
func (v *View) mayReceive(lim *Limits) (why string) {
	switch {
	case v.State != "" && v.State != StateActive:
		return v.why()
	case v.LagMs < 0:
		return "how far replication to it lags is not known"
	case v.LagMs > lim.MaxLag.Milliseconds():
		return fmt.Sprintf("replication to it lags by %.1f s, %.1f s are allowed", float64(v.LagMs)/1000, lim.MaxLag.Seconds())
	}
	return ""
}

// why says what a region's state means for moves.
func (v *View) why() string {
	switch v.State {
	case StateEvacuating:
		return "it is being evacuated"
	case StateAdopted:
		return "it was adopted by another"
	case StateSilent:
		return "it has had no fresh heartbeat"
	case StateReading:
		return "the table is still being read"
	case StateOff:
		return "balancing is switched off for the pool"
	default:
		return fmt.Sprintf("its state is %q", v.State)
	}
}

// ceil is f as a count, which garbage in a forecast cannot take out of bounds.
func ceil(f float64) int64 {
	const most = 1 << 40
	if !(f > 0) {
		return 0
	}
	return int64(math.Ceil(min(f, most)))
}
