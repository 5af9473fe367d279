package control

import (
	"math"
	"testing"
)

// peersOf returns the peers that states are.
func peersOf(list ...Pace) (p Peers) {
	for _, s := range list {
		p.Add(s.Log())
	}
	return p
}

// TestPeers: three datacentres pace one campaign by the spend of all of them. Parameters that begin
// far from each other are near an hour later, and no step is greater than in one datacentre. Alone,
// they would stay as far from each other.
func TestPeers(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		if w.pacer.cfg.Controller == (ASAP{}) {
			return // its parameters are the same everywhere
		}
		for _, alone := range []bool{false, true} {
			x := newWalk(w.pacer.cfg)
			x.ticks(1500)
			states := []Pace{x.pace, x.pace, x.pace}
			for i, factor := range []float64{0.7, 1, 1.3} {
				states[i].Probability *= factor
				if states[i].Dual *= factor; states[i].Dual > 0 {
					states[i].Probability, states[i].Multiplier = 1, 1/(1+states[i].Dual)
				}
			}
			for range 360 {
				x.o.AtMs += tickMs
				x.o.Planned = min(1, x.o.Planned+float64(tickMs)/(dayMs*23/24))
				x.o.Cost = 0
				for _, s := range states {
					x.o.Cost += x.demand / 3 * s.Probability * s.Multiplier
				}
				x.o.Spent += x.o.Cost
				before := states
				states = nil
				for i, s := range before {
					o := x.o
					if !alone {
						o.Peers = peersOf(before[(i+1)%3], before[(i+2)%3])
					}
					next, params, _ := x.pacer.Step(s, o)
					was := Params{Open: s.Open, Probability: s.Probability, Multiplier: s.Multiplier}
					if step := stepOf(was, params); step > MaxStep*1.000001 {
						t.Fatalf("a step of %.4f", step)
					}
					states = append(states, next)
				}
			}
			distance := func(value func(Pace) float64) float64 {
				least, most := math.Inf(1), 0.0
				for _, s := range states {
					least, most = min(least, value(s)), max(most, value(s))
				}
				return most/least - 1
			}
			far := distance(func(s Pace) float64 { return s.Probability }) + distance(func(s Pace) float64 { return s.Multiplier })
			t.Logf("alone %v: %.4f apart", alone, far)
			if !alone && far > 0.02 || alone && far < 0.2 {
				t.Errorf("alone %v: the parameters are %.3f apart: %+v", alone, far, states)
			}
		}
	})
}

// TestApproach: the mean of the logarithms stays when all datacentres approach it. Peers that are
// not valid change nothing.
func TestApproach(t *testing.T) {
	list := []Pace{{State: start(0.02)}, {State: start(0.3)}, {State: start(0.9)}}
	sum := 0.0
	for i := range list {
		s := list[i].State
		p := peersOf(list[(i+1)%3], list[(i+2)%3])
		s.approach(p, 2.5)
		sum += math.Log(s.Probability / list[i].Probability)
	}
	if math.Abs(sum) > 1e-9 {
		t.Errorf("the mean has moved by %g", sum/3)
	}
	s := start(1)
	for _, p := range []Peers{{}, {Count: -1, Log: -1}, {1, math.NaN()}, {1, math.Inf(1)}, {1, 1e300}, peersOf(Pace{State: start(1)})} {
		if s.approach(p, 1); s != start(1) {
			t.Errorf("%+v: %+v", p, s)
		}
	}
	dual := Dual{}.Start(0)
	p := peersOf(Pace{State: State{Probability: 1, Dual: 4}})
	if dual.approach(p, 1); dual.Probability != 1 || !(dual.Dual > dualFirst) || dual.Multiplier != 1/(1+dual.Dual) {
		t.Errorf("%+v", dual)
	}
}
