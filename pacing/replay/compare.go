package replay

import (
	"math"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
)

// Tolerance is the relative difference of numbers that are taken to be the same. Processors of one
// kind compute the same bits; others may round differently.
const Tolerance = 1e-6

// key identifies a node from one whole tick to the next.
type key struct {
	kind         eventspb.NodeKind
	id, campaign string
}

// compare compares the states of a whole tick with those of the steps before, and takes over what
// is not in it. follows is whether no tick is missing in between.
func (a *Account) compare(before []Node, t *eventspb.AccountTick, follows bool) {
	was := make(map[key]*Node, len(before))
	for i := range before {
		was[key{before[i].Kind, before[i].ID, before[i].Campaign}] = &before[i]
	}
	for i, m := range t.GetNodes() {
		n := &a.Nodes[i]
		o := was[key{n.Kind, n.ID, n.Campaign}]
		switch {
		case o == nil:
			n.before = m.GetSpentMicros()
			continue
		case a.Tick.GetBudgetDay() == t.GetBudgetDay():
			n.before = o.Spent
		}
		if !o.Paced || !n.Paced {
			continue
		}
		if n.otherPace = o.otherPace; !follows || m.GetReplaced() {
			continue
		}
		if a.States++; !same(pack.Pace(m.GetState()), o.Pace) {
			a.Wrong++
		}
	}
}

// same reports whether two states differ by no more than Tolerance.
func same(a, b control.Pace) bool {
	near := func(list, other []*float64, least float64) bool {
		for i, x := range list {
			if y := other[i]; math.Abs(*x-*y) > max(least, Tolerance*max(math.Abs(*x), math.Abs(*y))) {
				return false
			}
			*x = *other[i]
		}
		return true
	}
	return near(ratios(&a), ratios(&b), 1e-9) && near(amounts(&a), amounts(&b), 1e-3) && a == b // the rest: days, times and flags
}

// ratios returns the numbers of a state without a unit.
func ratios(p *control.Pace) []*float64 {
	return []*float64{&p.Probability, &p.Multiplier, &p.Dual, &p.Error, &p.Planned, &p.AnchorPlanned, &p.Chance, &p.Ticks}
}

// amounts returns the numbers of a state in micros. They may be small differences of large ones.
func amounts(p *control.Pace) []*float64 {
	return []*float64{&p.Cost, &p.Need, &p.Budget, &p.Action, &p.Rate, &p.Allowance, &p.AnchorSpent}
}
