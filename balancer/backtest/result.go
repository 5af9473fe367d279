package backtest

import (
	"time"

	"github.com/weirhq/weir/balancer"
)

// Point is what happened in a part of the time in a region.
type Point struct {
	Wanted   float64 // new leases a second
	Free     int     // the least
	Refused  int
	MovedIn  int
	MovedOut int
}

// Result is what became of a policy.
type Result struct {
	Policy  string
	Wanted  int // leases, after Config.Warm; so are the others
	Refused int
	Moved   int
	Stock   int
	Moves   []Started // from the beginning
	Points  [][]Point // by region and part
	Each    time.Duration
}

// Started is a move that was begun.
type Started struct {
	Second int // after the beginning
	balancer.Move
}

// RefusedPercent is the share of those wanted.
func (r *Result) RefusedPercent() float64 {
	return 100 * float64(r.Refused) / max(1, float64(r.Wanted))
}

// MovedPer100 is moves per hundred leases wanted.
func (r *Result) MovedPer100() float64 { return 100 * float64(r.Moved) / max(1, float64(r.Wanted)) }
