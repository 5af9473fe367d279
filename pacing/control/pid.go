package control

import "math"

// PID is a controller with proportional, integral and derivative terms. Its zero value works.
type PID struct{}

// Gains of PID. The velocity form has no sum that grows while the probability is at a bound.
const (
	pidProportional = 8
	pidIntegral     = 0.06 // of a tick
	pidDerivative   = 0.02
	pidLimit        = 0.1 // of the step
)

// Name implements Controller.
func (PID) Name() string { return "pid" }

// Start implements Controller.
func (PID) Start(probability float64) State { return start(probability) }

// Step implements Controller.
func (PID) Step(s State, sig Signals) State {
	s.average(&sig)
	err := sig.Planned - sig.Spent/sig.Budget
	slope := 0.0
	if grown := sig.Grown / sig.Ticks; grown > 0 {
		cost := s.Cost / sig.Budget
		slope = (grown - cost) / max(grown, cost)
	}
	step := pidProportional*(err-s.Error) + sig.Ticks*(pidIntegral*err+pidDerivative*slope)
	s.Error = err
	step = min(max(step, -pidLimit*sig.Ticks), pidLimit*sig.Ticks)
	s.Probability = bound(s.Probability*math.Exp(step), MinProbability)
	s.raiseBids(&sig)
	return s
}
