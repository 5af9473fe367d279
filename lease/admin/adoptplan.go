package admin

import (
	"context"
	"time"

	"github.com/weirhq/weir/lease/table"
)

// AdoptionPlan is what an adoption would do.
type AdoptionPlan struct {
	Region string `json:"region"`
	By     string `json:"by"`
	// Until is the time until which the region may write. Then its resources change their owner.
	Until time.Time `json:"until"`
	// Fenced reports whether an earlier run has ended the renewals of the region's write lease.
	Fenced bool          `json:"fenced"`
	Pools  []PlannedPool `json:"pools" table:"-"`
}

// PlannedPool is the time from which the adopted resources of a pool could be leased.
type PlannedPool struct {
	Client  string    `json:"client"`
	Pool    string    `json:"pool"`
	Offered time.Time `json:"offered"`
}

// PlanAdoption returns what Adopt would do, and the errors that Adopt would return before its first
// write. It writes nothing.
func (a *Admin) PlanAdoption(ctx context.Context, o Adoption) (AdoptionPlan, error) {
	plan := AdoptionPlan{Region: o.Region, By: o.By}
	r, err := a.adoptable(ctx, &o)
	if err != nil {
		return plan, err
	}
	until, open, err := a.endOfWrites(ctx, &r, &o)
	if err != nil {
		return plan, err
	}
	end := time.UnixMilli(until)
	plan.Until, plan.Fenced = end.Add(3*a.table.Skew).UTC(), len(open) == 0 && r.State == table.RegionAdopted
	clients, err := List(ctx, a, Client{})
	if err != nil {
		return plan, err
	}
	for _, c := range clients {
		pools, err := List(ctx, a, Pool{Client: c.Client})
		if err != nil {
			return plan, err
		}
		for i := range pools {
			plan.Pools = append(plan.Pools, PlannedPool{c.Client, pools[i].Pool, pools[i].offeredAfter(end)})
		}
	}
	return plan, nil
}

// offeredAfter returns the time from which a resource of the pool can be leased, if an unknown
// lease of it began at the latest at a time. The lost region may not have seen that the pool's
// maximum lease term was lowered.
func (p *Pool) offeredAfter(last time.Time) time.Time {
	return last.UTC().Add(time.Duration(p.LongestEver)).Add(time.Duration(p.Quarantine))
}
