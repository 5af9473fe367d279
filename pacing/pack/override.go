package pack

import (
	"slices"

	"github.com/weirhq/weir/events/eventspb"
)

// SetOverrides sets the last overrides of campaigns of the account, those that were withdrawn, too:
// from the next Step on those count that have not ended. One that the owner before has written, and
// that is later than all of list for its campaign, counts beside them: it was not read here yet.
func (a *Account) SetOverrides(list []*eventspb.CampaignOverride) {
	a.overrides = list
	a.inherited = slices.DeleteFunc(a.inherited, func(o *eventspb.CampaignOverride) bool {
		return slices.ContainsFunc(list, func(l *eventspb.CampaignOverride) bool {
			return l.GetCampaign() == o.GetCampaign() && l.GetAtMs() >= o.GetAtMs()
		})
	})
}

// override gives campaigns, and their arms, the overrides that are in force.
func (a *Account) override() {
	if !a.overridden && len(a.overrides) == 0 && len(a.inherited) == 0 {
		return
	}
	inForce := map[int]*eventspb.CampaignOverride{} // by node
	for _, o := range slices.Concat(a.overrides, a.inherited) {
		at, n, ok := a.layout.campaignAt(o.GetCampaign())
		if !ok || o.GetUntilMs() <= a.atMs {
			continue
		}
		inForce[n] = o
		for i := range a.arms(at) {
			inForce[int(a.layout.armsAt[at])+i] = o
		}
	}
	a.overridden = len(inForce) > 0
	for i := range a.nodes {
		a.nodes[i].setOverride(inForce[i])
	}
}

// setOverride sets the override of a node, nil for none. The node is expected to spend more, or
// less, by as much as its probability changes.
func (n *node) setOverride(o *eventspb.CampaignOverride) {
	before := n.chance()
	if n.override = o; before > 0 && n.chance() != before {
		n.pace.Rate *= n.chance() / before
		n.replaced = true
	}
}

// chance returns the probability with which a node takes part in auctions while it is not stopped.
func (n *node) chance() float64 {
	if p := n.override.GetProbability(); p > 0 {
		return p
	}
	return n.pace.Probability
}

// stopped reports whether an override has stopped a node.
func (n *node) stopped() bool { return n.override != nil && n.override.GetProbability() == 0 }
