package plan

import (
	"cmp"
	"fmt"
	"time"
)

// Limits bound what a plan does. The zero value works.
type Limits struct {
	// Fill is the multiple of a shortfall that a region gets: with more than its shortfall it does
	// not need another move soon (hybrid lateral transshipment: Glazebrook, Paterson, Archibald
	// 2014). Defaults to 1.5.
	Fill float64
	// DeadBand and DeadBandShare are the dead band: a plan ignores a shortfall of up to DeadBand
	// resources, or up to DeadBandShare of what the region wants. Default to 3 and 0.05.
	DeadBand      int64
	DeadBandShare float64
	// MaxMoved and MaxMovedShare bound what one plan moves: MaxMoved resources, or MaxMovedShare of
	// the pool's free ones if that is more. Default to 100 and 0.25.
	MaxMoved      int64
	MaxMovedShare float64
	// MaxEvacuated is how many resources leave an evacuated region in one plan. Defaults to 1000.
	MaxEvacuated int64
	// Cover is how long the free resources of a region should last, without what returns in that
	// time. Defaults to 2 min.
	Cover time.Duration
	// LowWater is how long the free resources last when a pull begins. Defaults to 30 s.
	LowWater time.Duration
	// MaxLag is the replication lag above which nothing is sent to a region. Defaults to 10 s.
	MaxLag time.Duration
}

func (l *Limits) setDefaults() {
	l.Fill = cmp.Or(l.Fill, 1.5)
	l.DeadBand = cmp.Or(l.DeadBand, 3)
	l.DeadBandShare = cmp.Or(l.DeadBandShare, 0.05)
	l.MaxMoved = cmp.Or(l.MaxMoved, 100)
	l.MaxMovedShare = cmp.Or(l.MaxMovedShare, 0.25)
	l.MaxEvacuated = cmp.Or(l.MaxEvacuated, 1000)
	l.Cover = cmp.Or(l.Cover, 2*time.Minute)
	l.LowWater = cmp.Or(l.LowWater, 30*time.Second)
	l.MaxLag = cmp.Or(l.MaxLag, 10*time.Second)
}

// Check returns an error if limits are invalid.
func (l Limits) Check() error {
	l.setDefaults()
	switch {
	case !(l.Fill >= 1 && l.Fill <= 10):
		return fmt.Errorf("plan: Limits.Fill is %v: use 1 to 10", l.Fill)
	case l.DeadBand < 0 || !(l.DeadBandShare >= 0 && l.DeadBandShare < 1):
		return fmt.Errorf("plan: Limits.DeadBand is %d, DeadBandShare %v: use at least 0, and a share below 1", l.DeadBand, l.DeadBandShare)
	case l.MaxMoved < 1 || !(l.MaxMovedShare >= 0 && l.MaxMovedShare <= 1) || l.MaxEvacuated < 1:
		return fmt.Errorf("plan: Limits.MaxMoved is %d, MaxMovedShare %v, Evacuate %d: use positive numbers, and a share up to 1",
			l.MaxMoved, l.MaxMovedShare, l.MaxEvacuated)
	case l.LowWater <= 0 || l.Cover < l.LowWater || l.MaxLag < 0:
		return fmt.Errorf("plan: Limits.LowWater is %s, Cover %s, MaxLag %s: use positive times, and a Cover of at least LowWater",
			l.LowWater, l.Cover, l.MaxLag)
	}
	return nil
}

// band returns the dead band of a region that wants so many resources.
func (l *Limits) band(want int64) int64 { return max(l.DeadBand, Count(l.DeadBandShare*float64(want))) }
