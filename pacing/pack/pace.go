package pack

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
)

// paceRecord returns the state of a node for a pack.
func paceRecord(p *control.Pace) *eventspb.PaceState {
	return &eventspb.PaceState{
		Probability: p.Probability, Multiplier: p.Multiplier, Dual: p.Dual, Cost: p.Cost, Need: p.Need, Error: p.Error,
		Day: p.Day, AtMs: p.AtMs, Budget: p.Budget, Planned: p.Planned, Closed: p.Closed, Open: p.Open, Tiny: p.Tiny,
		Action: p.Action, Rate: p.Rate, Allowance: p.Allowance, AnchorSpent: p.AnchorSpent, AnchorPlanned: p.AnchorPlanned,
		Chance: p.Chance, Ticks: p.Ticks,
	}
}

// Pace returns the state of a controller from its record.
func Pace(s *eventspb.PaceState) control.Pace {
	return control.Pace{
		State: control.State{
			Probability: s.GetProbability(), Multiplier: s.GetMultiplier(), Dual: s.GetDual(), Cost: s.GetCost(), Need: s.GetNeed(),
			Error: s.GetError(),
		},
		Day: s.GetDay(), AtMs: s.GetAtMs(), Budget: s.GetBudget(), Planned: s.GetPlanned(), Closed: s.GetClosed(), Open: s.GetOpen(),
		Tiny: s.GetTiny(), Action: s.GetAction(), Rate: s.GetRate(), Allowance: s.GetAllowance(), AnchorSpent: s.GetAnchorSpent(),
		AnchorPlanned: s.GetAnchorPlanned(), Chance: s.GetChance(), Ticks: s.GetTicks(),
	}
}
