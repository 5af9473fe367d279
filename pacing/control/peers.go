package control

import "math"

// Peers are the controllers that pace the same campaign in other datacentres, by the same rule and
// by the same spend. The zero value is that of none. Only those count that move now: their last
// reason was Ahead or Behind, and no budget above limits them.
type Peers struct {
	Count int
	Log   float64 // sum of the logarithms of State.Log
}

// Add adds a peer with the logarithm of a state, see State.Log.
func (p *Peers) Add(log float64) {
	p.Count++
	p.Log += log
}

// Log returns the logarithm of what a controller moves: of the price of the budget, or of the
// probability where there is none.
func (s *State) Log() float64 {
	if s.Dual > 0 {
		return math.Log(s.Dual)
	}
	return math.Log(s.Probability)
}

// peersWeight is the share of the distance to the mean of all datacentres by which a parameter
// moves in a tick: half of it in six minutes.
const peersWeight = 0.02

// approach moves the parameters towards the mean of all datacentres, PACE-30. Each acts on the
// spend of all, so that only chance would decide which one spends which part of a budget: their
// parameters would drift apart.
func (s *State) approach(p Peers, ticks float64) {
	if p.Count <= 0 || !s.finite() {
		return
	}
	weight := (1 - math.Pow(1-peersWeight, ticks)) / float64(p.Count+1)
	factor := math.Exp(weight * (p.Log - float64(p.Count)*s.Log()))
	switch {
	case !(factor > 0) || math.IsInf(factor, 1):
	case s.Dual > 0:
		s.Dual *= factor
		s.Multiplier = 1 / (1 + s.Dual)
	default:
		s.Probability = bound(s.Probability*factor, MinProbability)
	}
}
