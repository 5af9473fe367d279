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
	// DeadBand and DeadShare are the dead band: a shortfall is left alone up to Dead resources, and up to DeadShare of what the
	// region wants. Default to 3 and 0.05.
	DeadBand      int64
	DeadBandShare float64
	// MaxMoved and CapShare bound what one plan moves: Cap resources, or CapShare of the pool's free ones if that is more. Default to
	// 100 and 0.25.
	MaxMoved      int64
	MaxMovedShare float64
	// Evacuate is how many resources leave a region that is evacuated, in one plan. Defaults to 1000.
	Evacuate int64
	// Cover is how long the free resources of a region should last, whatever comes back meanwhile. Defaults to 2 min.
	Cover time.Duration
	// LowWater is when a pull begins: the free resources last no longer than that. Defaults to 30 s.
	LowWater time.Duration
	// MaxLag is the replication lag above which nothing is sent to a region. Defaults to 10 s.
	MaxLag time.Duration
}

func (l *Limits) setDefaults() {
	setDefault(&l.Fill, 1.5)
	setDefault(&l.DeadBand, 3)
	setDefault(&l.DeadBandShare, 0.05)
	setDefault(&l.MaxMoved, 100)
	setDefault(&l.MaxMovedShare, 0.25)
	setDefault(&l.Evacuate, 1000)
	setDefault(&l.Cover, 2*time.Minute)
	setDefault(&l.LowWater, 30*time.Second)
	setDefault(&l.MaxLag, 10*time.Second)
}

func (l *Limits) check() error {
	switch {
	case !(l.Fill >= 1 && l.Fill <= 10):
		return fmt.Errorf("balancer: fill %v: must be 1 to 10", l.Fill)
	case l.DeadBand < 0 || !(l.DeadBandShare >= 0 && l.DeadBandShare < 1):
		return fmt.Errorf("balancer: dead band %d and %v: must not be negative, the share below 1", l.DeadBand, l.DeadBandShare)
	case l.MaxMoved < 1 || !(l.MaxMovedShare >= 0 && l.MaxMovedShare <= 1) || l.Evacuate < 1:
		return fmt.Errorf("balancer: caps %d, %v and %d: must be positive, the share at most 1", l.MaxMoved, l.MaxMovedShare, l.Evacuate)
	case l.LowWater <= 0 || l.Cover < l.LowWater || l.MaxLag < 0:
		return fmt.Errorf("balancer: low water %s, cover %s, lag %s: must be positive, the cover at least the low water", l.LowWater, l.Cover, l.MaxLag)
	}
	return nil
}

// setDefault sets what is not set.
func setDefault[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// band is the dead band around what a region wants.
func (l *Limits) band(want int64) int64 { return max(l.DeadBand, ceil(l.DeadBandShare*float64(want))) }
