package control

import "math"

// PTR is the controller of LinkedIn, at steps of 10 % a minute. Its zero value works.
type PTR struct{}

const (
	ptrUp   = 1.0161 // of a tick: 10 % a minute
	ptrDown = 0.9826
)

// Name implements Controller.
func (PTR) Name() string { return "ptr" }

// Start implements Controller.
func (PTR) Start(probability float64) State { return start(probability) }

// Step implements Controller.
func (PTR) Step(s State, sig Signals) State {
	s.average(&sig) // for a controller that continues
	step := ptrUp
	if sig.Spent > sig.Budget*sig.Planned {
		step = ptrDown
	}
	s.Probability = bound(s.Probability*math.Pow(step, sig.Ticks), MinProbability)
	s.raiseBids(&sig)
	return s
}

// start returns a state with a probability.
func start(probability float64) State {
	if probability == 0 {
		probability = firstChance
	}
	return State{Probability: bound(probability, MinProbability), Multiplier: 1}
}
