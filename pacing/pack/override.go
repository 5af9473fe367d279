package pack

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
)

// SetOverrides sets the overrides of campaigns of the account, in place of those before and of
// those of Restore. They count from the next Step on, until they end.
func (a *Account) SetOverrides(list []*eventspb.CampaignOverride) { a.overrides = list }

// override gives campaigns, and their arms, the overrides that are in force.
func (a *Account) override() {
	if !a.overridden && len(a.overrides) == 0 {
		return
	}
	a.overridden = false
	for i := range a.nodes {
		a.nodes[i].override = nil
	}
	for _, o := range a.overrides {
		at, n, ok := a.layout.campaignAt(o.GetCampaign())
		if !ok || o.GetUntilMs() <= a.atMs {
			continue
		}
		a.overridden = true
		a.nodes[n].override = o
		arms := a.arms(at)
		for i := range arms {
			arms[i].override = o
		}
	}
}

// overrideReason returns the reason of a node with an override: while it lasts, its controller
// pauses.
func overrideReason(o *eventspb.CampaignOverride) control.Reason {
	if o.GetProbability() > 0 {
		return control.Override
	}
	return control.PausedNow
}

// overridden returns parameters with an override.
func overridden(p control.Params, o *eventspb.CampaignOverride) control.Params {
	switch chance := o.GetProbability(); {
	case o == nil:
	case chance > 0:
		p.Probability = min(max(chance, control.MinProbability), 1)
	default:
		p.Open = false
	}
	return p
}
