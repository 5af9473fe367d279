package page

import (
	"cmp"
	"slices"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// Limits of the lists of leases.
const (
	maxPools = 60 // rows of pools and regions
	maxMoves = 10
)

// Leases are the pools and the decisions of the lease loop.
type Leases struct {
	Sampled

	Headroom []*eventspb.LeaseHeadroom     // by client, pool and region
	Journal  []*eventspb.LeaseJournalEntry // oldest first
	Since    time.Duration                 // maximum age of Journal
}

// PoolRow is a pool in a region.
type PoolRow struct {
	Client, Pool, Region, State string
	Free, Leased, Need, Short   string
	IsShort                     bool
}

// PoolTable are the pools, those that are short first.
type PoolTable struct {
	Rows    []PoolRow
	More    string // number of rows that are left out
	Clients bool   // the rows differ in their client
	Pools   bool   // the rows differ in their pool
	States  bool   // a region is not active
}

// Shortfall returns how many resources a pool lacks in a region: what it needs within the horizon,
// less what is free, in transit to it or returning by then.
func Shortfall(h *eventspb.LeaseHeadroom) int64 {
	return max(0, h.GetNeed()-h.GetReturning()-h.GetInTransit()-max(0, h.GetFree()-h.GetOutbound()))
}

// Pools returns the table of pools.
func (l *Leases) Pools() (t PoolTable) {
	all := slices.Clone(l.Headroom)
	slices.SortStableFunc(all, func(a, b *eventspb.LeaseHeadroom) int { return cmp.Compare(min(1, Shortfall(b)), min(1, Shortfall(a))) })
	for i, h := range all {
		t.Clients = t.Clients || h.GetClient() != all[0].GetClient()
		t.Pools = t.Pools || t.Clients || h.GetPool() != all[0].GetPool()
		if i >= maxPools {
			continue
		}
		r := PoolRow{
			Client: h.GetClient(), Pool: h.GetPool(), Region: h.GetRegion(), Free: count(h.GetFree()), Leased: count(h.GetLeased()),
			Need: count(h.GetNeed()), Short: count(Shortfall(h)), IsShort: Shortfall(h) > 0,
		}
		if h.GetState() != "" && h.GetState() != "active" {
			r.State, t.States = h.GetState(), true
		}
		t.Rows = append(t.Rows, r)
	}
	if n := len(all) - maxPools; n > 0 {
		t.More = count(n)
	}
	return t
}

// Move is a decision of the lease loop.
type Move struct{ Time, Kind, Pool, Text string }

// Moves returns the last decisions, the newest first.
func (o *Overview) Moves() (list []Move) {
	for _, e := range slices.Backward(o.Leases.Journal) {
		if len(list) == maxMoves {
			break
		}
		list = append(list, Move{clock(time.UnixMilli(e.GetAtMs()), o.Now), e.GetKind(), e.GetPool(), e.GetText()})
	}
	return list
}

// SinceText returns the maximum age of a decision.
func (l *Leases) SinceText() string { return span(l.Since) }
