package control

import "math"

// Dual lowers bids by the price of the budget. Its zero value works. The multiplier is right for
// auctions in which bids are true values, such as second-price auctions.
type Dual struct{}

const (
	dualRate  = 0.02 // of a tick
	dualFirst = 1.0
	dualLeast = 0.01
	dualMost  = 100
	dualDecay = 0.95 // of a tick after the end of the plan
)

// Name implements Controller.
func (Dual) Name() string { return "dual" }

// Start implements Controller. The probability is that of a controller that lowers it.
func (Dual) Start(probability float64) State {
	price := dualFirst
	if probability > 0 {
		price = min(max(1/probability-1, dualLeast), dualMost)
	}
	return State{Probability: 1, Multiplier: 1 / (1 + price), Dual: price}
}

// Step implements Controller.
func (Dual) Step(s State, sig Signals) State {
	s.average(&sig)
	switch {
	case sig.Planned >= planEnd && s.Cost <= 0: // nothing was shown
		s.Dual *= math.Pow(dualDecay, sig.Ticks)
	case sig.Planned >= planEnd, sig.Grown > 0:
		need := s.need(&sig)
		above := 3.0 // nothing may be spent
		if need > 0 {
			above = min(max((s.Cost-need)/need, -1), 3)
		}
		s.Dual *= math.Exp(dualRate * above * sig.Ticks)
	}
	if !(s.Dual > dualLeast) {
		s.Dual = dualLeast
	}
	s.Dual = min(s.Dual, dualMost)
	s.Probability, s.Multiplier = 1, 1/(1+s.Dual)
	return s
}
