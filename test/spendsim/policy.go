package spendsim

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache/selection"
)

// policy is how the spend of a campaign is read.
type policy int

// The policies. The campaign of a policy has its name.
const (
	own policy = iota
	selected
	merged
	guarded
	policies
)

// String returns the name of the policy.
func (p policy) String() string { return [...]string{"own", "selection", "merge", "guarded"}[p] }

// guard is the part by which the merge may exceed the chosen dataset under the policy guarded.
const guard = 0.05

// view is what a reader has of the campaigns: the rows of the chosen dataset, of the own one, and
// of all, by campaign.
type view struct {
	mode         selection.Mode
	chosen, ours map[string]*row
	all          map[string][]*eventspb.Spend
	adds         bool // for a mutation
}

// spent returns what a policy reads for its campaign.
func (v *view) spent(p policy) spent {
	campaign := p.String()
	one := spentOf(v.chosen[campaign])
	switch {
	case p == own:
		return spentOf(v.ours[campaign])
	case p == selected && v.mode == selection.Normal:
		return one
	}
	var sum spent
	for _, by := range events.MergeSpend(v.all[campaign]...).GetByDc() {
		sum.charged, sum.refunded = sum.charged+by.ChargedMicros, sum.refunded+by.RefundedMicros
	}
	if v.adds {
		sum = spent{}
		for _, s := range v.all[campaign] {
			for _, by := range s.ByDc {
				sum.charged += by.ChargedMicros
			}
		}
	}
	if p == guarded && v.mode == selection.Normal && float64(sum.net()) > float64(one.net())*(1+guard) {
		return one
	}
	return sum
}

func spentOf(r *row) spent {
	if r == nil {
		return spent{}
	}
	return r.spent
}
