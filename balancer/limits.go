package balancer

import (
	"fmt"
	"time"
)

// Limits bounds what a plan does. Its zero value works.
type Limits struct {
	// Fill is how much of a shortfall is filled: who must move moves more than the shortfall, so as not to move again soon
	// (hybrid lateral transshipment: Glazebrook, Paterson, Archibald 2014). Defaults to 1.5.
	Fill float64
	// Dead and DeadShare are the dead band: a shortfall is left alone up to Dead resources, and up to DeadShare of what the
	// region wants. Default to 3 and 0.05.
	Dead      int64
	DeadShare float64
	// Cap and CapShare bound what one plan moves: Cap resources, or CapShare of the pool's free ones if that is more. Default to
	// 100 and 0.25.
	Cap      int64
	CapShare float64
	// Evacuate is how many resources leave a region that is evacuated, in one plan. Defaults to 1000.
	Evacuate int64
	// Cover is how long the free resources of a region should last, whatever comes back meanwhile. Defaults to 2 min.
	Cover time.Duration
	// Low is when a pull begins: the free resources last no longer than that. Defaults to 30 s.
	Low time.Duration
	// Lag is the replication lag above which nothing is sent to a region. Defaults to 10 s.
	Lag time.Duration
}

func (l *Limits) setDefaults() {
	def(&l.Fill, 1.5)
	def(&l.Dead, 3)
	def(&l.DeadShare, 0.05)
	def(&l.Cap, 100)
	def(&l.CapShare, 0.25)
	def(&l.Evacuate, 1000)
	def(&l.Cover, 2*time.Minute)
	def(&l.Low, 30*time.Second)
	def(&l.Lag, 10*time.Second)
}

func (l *Limits) check() error {
	switch {
	case !(l.Fill >= 1 && l.Fill <= 10):
		return fmt.Errorf("balancer: fill %v: must be 1 to 10", l.Fill)
	case l.Dead < 0 || !(l.DeadShare >= 0 && l.DeadShare < 1):
		return fmt.Errorf("balancer: dead band %d and %v: must not be negative, the share below 1", l.Dead, l.DeadShare)
	case l.Cap < 1 || !(l.CapShare >= 0 && l.CapShare <= 1) || l.Evacuate < 1:
		return fmt.Errorf("balancer: caps %d, %v and %d: must be positive, the share at most 1", l.Cap, l.CapShare, l.Evacuate)
	case l.Low <= 0 || l.Cover < l.Low || l.Lag < 0:
		return fmt.Errorf("balancer: low water %s, cover %s, lag %s: must be positive, the cover at least the low water", l.Low, l.Cover, l.Lag)
	}
	return nil
}

// def sets what is not set.
func def[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// band is the dead band around what a region wants.
func (l *Limits) band(want int64) int64 { return max(l.Dead, ceil(l.DeadShare*float64(want))) }
