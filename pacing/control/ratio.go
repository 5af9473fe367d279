package control

import "math"

// Ratio is the controller for smooth delivery. Its zero value works.
type Ratio struct{}

const (
	ratioPower = 0.05 // of a tick
	ratioDown  = 0.92
	ratioUp    = 1.08
	ratioLeast = 1e-3 // probability
)

// Name implements Controller.
func (Ratio) Name() string { return "ratio" }

// Start implements Controller.
func (Ratio) Start(probability float64) State { return start(probability) }

// Step implements Controller.
func (Ratio) Step(s State, sig Signals) State {
	s.average(&sig)
	step := ratioUp // nothing was shown
	switch {
	case sig.Planned < planEnd && sig.Grown <= 0:
		return s // no traffic is expected, and its cost means nothing
	case s.Cost > 0:
		step = math.Pow(s.need(&sig)/s.Cost, ratioPower)
	}
	step = min(max(step, ratioDown), ratioUp)
	s.Probability = bound(s.Probability*math.Pow(step, sig.Ticks), ratioLeast)
	s.raiseBids(&sig)
	return s
}
