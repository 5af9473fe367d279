package backtest

import (
	"time"

	"github.com/weirhq/weir/balancer/plan"
)

// Point has the figures of an interval in a region.
type Point struct {
	Wanted   float64 // demand, new leases per second
	Free     int     // the minimum
	Refused  int
	MovedIn  int
	MovedOut int
}

// Result is the result of a policy.
type Result struct {
	Policy        string
	Wanted        int // wanted leases after Config.WarmUp, as the next two
	Refused       int
	Moved         int
	Stock         int
	Moves         []StartedMove // of the whole run
	Points        [][]Point     // by region and interval
	PointInterval time.Duration
}

// StartedMove is a started move.
type StartedMove struct {
	Second int // after the start
	plan.Move
}

// RefusedPercent returns the refused share of the wanted leases, in percent.
func (r *Result) RefusedPercent() float64 {
	return 100 * float64(r.Refused) / max(1, float64(r.Wanted))
}

// MovedPer100 returns the moved resources per hundred wanted leases.
func (r *Result) MovedPer100() float64 { return 100 * float64(r.Moved) / max(1, float64(r.Wanted)) }
