package control

import (
	"math"
	"time"
)

// Tick is the time between two steps of a controller in ordinary operation.
const Tick = 10 * time.Second

// Signals are what a controller knows of a campaign. They are finite, and Budget is above 0: a
// Pacer sees to that.
type Signals struct {
	Budget  float64 // of the day, micros
	Spent   float64 // effective spend of the day, micros: charged, and in flight
	Planned float64 // share of the budget that is planned to be spent by now, [0, 1]
	Grown   float64 // by how much Planned has grown since the last step
	Cost    float64 // expected cost of the ads that were shown since the last step, micros
	Ticks   float64 // time since the last step, in units of Tick; above 0
	// BidsLimited is whether a node above has lower bids: see Limits.
	BidsLimited bool
	Delayed     bool // charges follow ads late, as clicks do: costs are averaged over a longer time
}

// State is what a controller remembers of a campaign from one step to the next. Its zero value is
// not valid: see Start.
type State struct {
	Probability float64 // that the campaign takes part in an auction
	Multiplier  float64 // of its bids
	Dual        float64 // price of the budget, of Dual, whose Multiplier is 1/(1+price); 0: there is none
	Cost        float64 // of a tick, a mean, micros
	Need        float64 // planned spend of a tick, a mean, micros
	Error       float64 // of the last step, of PID: share of the budget
}

// Controller chooses the parameters of a campaign. Implementations have no state of their own, so
// that a step can be repeated, and a learner can be trained on recorded signals.
type Controller interface {
	// Name is the name in configurations and results.
	Name() string
	// Start returns the state before the first step. probability is a hint from earlier days, 0 if
	// there is none.
	Start(probability float64) State
	// Step returns the next state. A Pacer limits how far it is from the one before: PACE-2. One
	// with a number that is not finite is not used: the state stays.
	Step(State, Signals) State
}

// Bounds of the parameters.
const (
	MinProbability = 1e-4
	minMultiplier  = 1e-4
	firstChance    = 0.1 // probability of a campaign without a history
)

// bound limits a probability, and makes one of NaN.
func bound(p, low float64) float64 {
	if !(p > low) {
		return low
	}
	return min(p, 1)
}

// finite reports whether all numbers of s are finite.
func (s *State) finite() bool {
	for _, v := range [...]float64{s.Probability, s.Multiplier, s.Dual, s.Cost, s.Need, s.Error} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// limit makes the result of a controller one that follows before within a number of ticks.
func (s *State) limit(before *State, ticks float64) {
	if !s.finite() {
		*s = *before
		return
	}
	most := math.Exp(MaxStep * ticks)
	near := func(v, before, low float64) float64 { return bound(min(max(v, before/most), before*most), low) }
	s.Probability = near(s.Probability, before.Probability, MinProbability)
	s.Multiplier = near(s.Multiplier, before.Multiplier, minMultiplier)
}

// bidsStep is the logarithm by which raiseBids raises bids in a tick. Spend may grow faster than
// they do, and has to be known before they are raised much further.
const bidsStep = MaxStep / 8

// raiseBids raises the multiplier of bids, which another controller has lowered, and lowers the
// probability as much.
func (s *State) raiseBids(sig *Signals) {
	if s.Multiplier < 1 && !sig.BidsLimited {
		next := min(1, s.Multiplier*math.Exp(bidsStep*sig.Ticks))
		s.Probability, s.Multiplier = bound(s.Probability*s.Multiplier/next, MinProbability), next
	}
}

// average moves the means of State to the signals of a step.
func (s *State) average(sig *Signals) {
	weight := 0.05
	if sig.Delayed {
		weight = 0.02
	}
	weight = 1 - math.Pow(1-weight, sig.Ticks)
	s.Cost += weight * (sig.Cost/sig.Ticks - s.Cost)
	s.Need += weight * (sig.Grown/sig.Ticks*sig.Budget - s.Need)
}

// need returns what a tick is to cost so that the rest of the budget lasts for the rest of the
// plan, and for leastRest at least: it is spent while its own cost is not known yet.
func (s *State) need(sig *Signals) float64 {
	rest := max(0, sig.Budget-sig.Spent)
	if ticks := (1 - sig.Planned) * sig.Budget / s.Need; ticks > leastRest { // also without an end
		return rest / ticks
	}
	return rest / leastRest
}

// planEnd is the share from which on a plan has no rest.
const planEnd = 1 - 1e-6

// leastRest is the number of ticks for which the rest of a budget is to last, however little of the
// plan is left.
const leastRest = 60
