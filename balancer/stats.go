package balancer

import "maps"

// Stats are figures for metrics and people. Those of what happened are since New, the others as of the last look at the pools.
//
// Every resource that was commanded, and every one that flew when New was called, has arrived, was overtaken, refused or given up,
// or flies.
type Stats struct {
	Moved     map[MovePath]int64 // resources that were commanded
	Arrived   int64              // seen in the region that they were sent to
	Overtaken int64              // somebody else wrote the row first: leased it, most often
	Refused   int64              // the executor's answer was another than that it was done
	GivenUp   int64              // nothing was heard of them in time

	Pools     int64
	InTransit int64    // resources
	OldestMs  int64    // how long the one that flies the longest does
	States    []string // by Config.Regions: see State...; nil before the first look
	Short     []int64  // by Config.Regions: pools that want more there than they have and get, by more than the dead band
}

// MovePath is of what kind moves are, and between which regions.
type MovePath struct{ Kind, From, To string }

// Stats is how b stands.
func (b *Balancer) Stats() Stats {
	s := b.stats
	s.Moved = maps.Clone(s.Moved)
	return s
}

// begin begins a look at all pools.
func (s *Stats) begin(states []string) {
	s.Pools, s.InTransit, s.OldestMs = 0, 0, 0
	s.States, s.Short = states, make([]int64, len(states))
}

// addPool takes a pool into the look.
func (s *Stats) addPool(p *pool, views []View, nowMs int64, lim *Limits) {
	s.Pools++
	for _, f := range p.transfers {
		if f.failed {
			continue
		}
		if s.InTransit++; f.sinceMs > 0 {
			s.OldestMs = max(s.OldestMs, nowMs-f.sinceMs)
		}
	}
	for i := range views {
		v := &views[i]
		if want := v.want(lim); v.State == StateActive && want-v.stock() > lim.band(want) {
			s.Short[i]++
		}
	}
}
