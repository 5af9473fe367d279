package balancer

import "github.com/weirhq/weir/balancer/plan"

import "maps"

// Stats are figures for metrics. The counters begin at New; the others are as of the last tick.
//
// The sum of Arrived, Overtaken, Refused, Expired and the resources in transit is the number of
// commanded resources and of those in transit when New was called.
type Stats struct {
	Moved     map[MovePath]int64 // commanded resources
	Arrived   int64              // resources seen in their new region
	Overtaken int64              // resources whose row another writer changed first, most often by a lease
	Refused   int64              // resources whose transfer the executor refused
	Expired   int64              // resources without a change or a result in time

	Pools            int64    // pools of the task
	InTransit        int64    // resources in transit
	OldestTransferMs int64    // age of the oldest transfer
	RegionStates     []string // by Config.Regions: see StateActive and others; nil before the first tick
	ShortPools       []int64  // by Config.Regions: pools with a shortfall above the dead band
}

// MovePath is the kind of a move and its regions.
type MovePath struct{ Kind, From, To string }

// Stats returns the current figures.
func (b *Balancer) Stats() Stats {
	s := b.stats
	s.Moved = maps.Clone(s.Moved)
	return s
}

// begin resets the figures of a tick.
func (s *Stats) begin(states []string) {
	s.Pools, s.InTransit, s.OldestTransferMs = 0, 0, 0
	s.RegionStates, s.ShortPools = states, make([]int64, len(states))
}

// addPool adds a pool to the figures of a tick.
func (s *Stats) addPool(p *pool, views []plan.View, nowMs int64, lim plan.Limits) {
	s.Pools++
	for _, f := range p.transfers {
		if f.failed {
			continue
		}
		if s.InTransit++; f.sinceMs > 0 {
			s.OldestTransferMs = max(s.OldestTransferMs, nowMs-f.sinceMs)
		}
	}
	for i := range views {
		if views[i].Short(lim) {
			s.ShortPools[i]++
		}
	}
}
