package control

// ASAP spends a budget as soon as it can. Its zero value works.
type ASAP struct{}

// Name implements Controller.
func (ASAP) Name() string { return "asap" }

// Start implements Controller.
func (ASAP) Start(float64) State { return State{Probability: 1, Multiplier: 1} }

// Step implements Controller.
func (ASAP) Step(s State, sig Signals) State {
	s.average(&sig) // for a controller that continues
	s.Probability, s.Multiplier = 1, 1
	return s
}
