package control

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// flood runs a campaign with a budget of 15 clicks of 1 USD in a flood of traffic: four servers
// could each show ads for hundreds of clicks in a tick. What was charged is known at the next
// tick. It returns the spend in USD at noon and at the end of the day.
func flood(reserve bool) (noon, end float64) {
	w := newWalk(Config{})
	w.o.Budget, w.o.Action = 15*usd, usd
	servers := make([]Reservations, 4)
	rng := rand.New(rand.NewPCG(5, 6))
	w.step()
	for i := range 8640 {
		allowance := w.pace.Allowance / float64(len(servers))
		from, spent := w.o.AtMs, 0.0
		for request := range 200 {
			s := &servers[rng.IntN(len(servers))]
			if !w.params.Open || rng.Float64() >= w.params.Probability {
				continue
			}
			if reserve && !s.Take(from+int64(request)*50, usd, allowance*float64(len(servers))*share(i, s, servers)) {
				continue
			}
			spent += usd
		}
		w.o.AtMs += tickMs
		w.o.Planned = min(1, w.o.Planned+float64(tickMs)/(dayMs*23/24))
		w.o.Cost, w.o.Spent = spent, w.o.Spent+spent
		for k := range servers {
			servers[k].Release(w.o.AtMs)
		}
		w.step()
		if i == 4320 {
			noon = w.o.Spent / usd
		}
	}
	return noon, w.o.Spent / usd
}

// share gives the whole allowance to one server after the other: a part of an action shows no ad.
func share(tick int, s *Reservations, servers []Reservations) float64 {
	if s == &servers[tick%len(servers)] {
		return 1
	}
	return 0
}

// TestTinyBudget: a budget of 15 actions is spent over the day, and never exceeded, although a
// second of traffic would spend it. Without reservations it is exceeded at once.
func TestTinyBudget(t *testing.T) {
	noon, end := flood(true)
	if noon < 7 || noon > 9 || end != 15 {
		t.Errorf("%.0f USD at noon and %.0f at the end", noon, end)
	}
	if _, end := flood(false); end < 20 {
		t.Errorf("%.0f USD without reservations: the test proves nothing", end)
	}
}

// TestTinyGate: the gate is open for one action ahead of the plan, while all of its cost is left.
func TestTinyGate(t *testing.T) {
	w := newWalk(Config{})
	w.o.Budget, w.o.Action = 10*usd, usd
	for _, c := range []struct {
		planned, spent, flight float64
		open                   bool
		allowance              float64
	}{
		{0, 0, 0, true, 1},
		{0, 0.5, 0, false, 0.5},
		{0, 0, 1, false, 0},
		{0.1, 1, 0, true, 1},
		{0.1, 1, 0.5, false, 0.5},
		{0.5, 2, 1, true, 3},
		{1, 9, 0, true, 1},
		{1, 9, 0.5, false, 0.5},
		{1, 10, 0, false, 0},
	} {
		w.o.AtMs += tickMs
		w.o.Planned, w.o.Spent, w.o.Flight = c.planned, c.spent*usd, c.flight*usd
		w.step()
		if w.params.Open != c.open || math.Abs(w.pace.Allowance-c.allowance*usd) > 1e-3 || (w.reason != TinyNow) != (c.spent == 10) {
			t.Errorf("%+v: %+v, %s, %.2f", c, w.params, w.reason, w.pace.Allowance/usd)
		}
	}
	w.o.Action = usd / 2 // 20 actions are enough for a probability, but not on this day
	w.o.Spent, w.o.Planned = 8*usd, 0.9
	w.o.AtMs += tickMs
	if w.step(); w.reason != TinyNow || math.Abs(w.pace.Allowance-1.5*usd) > 1e-3 {
		t.Errorf("%s, %.2f", w.reason, w.pace.Allowance/usd)
	}
	w.o.Action = 0 // not known any more: the last one holds
	if w.step(); w.reason != TinyNow || math.Abs(w.pace.Allowance-1.5*usd) > 1e-3 {
		t.Errorf("%s, %.2f without the cost of an action", w.reason, w.pace.Allowance/usd)
	}
	w.o.Day, w.o.Action = w.o.Day+1, usd/2
	if w.step(); w.reason == TinyNow || w.pace.Tiny || w.params.Probability != firstChance || w.pace.Allowance != 2*usd {
		t.Errorf("%s, %+v, %.2f on the next day", w.reason, w.params, w.pace.Allowance/usd)
	}
}

// reserved is a tick of a flood of traffic: 10 USD at full probability. Servers reserve the
// allowance, so that the least of the two is spent.
func (w *walk) reserved() {
	cost := 0.0
	if w.params.Open {
		cost = min(10*usd*w.params.Probability, w.pace.Allowance)
	}
	w.o.AtMs += tickMs
	w.o.Planned = min(1, w.o.Planned+float64(tickMs)/(dayMs*23/24))
	w.o.Cost, w.o.Spent = cost, w.o.Spent+cost
	w.step()
}

// TestTinyEdge: a budget that is now and then tiny is spent over the day: the gate is never that of
// the whole budget at the probability of a tiny one.
func TestTinyEdge(t *testing.T) {
	w := newWalk(Config{})
	w.o.Budget, w.o.Action = 20*usd, 1.05*usd
	w.step()
	for i := range 8640 {
		if w.reserved(); i%360 == 0 {
			w.o.Action = usd * (0.95 + 0.1*float64(i/360%2))
		}
		if most := w.o.Planned*w.o.Budget + 1.05*usd + 1; w.o.Spent > most {
			t.Fatalf("%.2f USD after %d ticks, at most %.2f are planned", w.o.Spent/usd, i, most/usd)
		}
	}
	if w.o.Spent < 0.95*w.o.Budget {
		t.Errorf("%.2f USD at the end", w.o.Spent/usd)
	}
}

// TestTinyRaisedFar: a tiny budget that is raised to one that is not tiny is spent by the rest of
// the plan. Budgets of 0 and unknown costs of actions are not tiny.
func TestTinyRaisedFar(t *testing.T) {
	w := newWalk(Config{})
	w.o.Action = usd
	for _, c := range []struct {
		budget, action float64
		tiny           bool
	}{{0, usd, false}, {100 * usd, usd, false}, {10 * usd, 0, true}, {100 * usd, usd, true}} {
		w.o.Budget, w.o.Action = c.budget, c.action
		if w.step(); w.pace.Tiny != c.tiny {
			t.Errorf("%+v: %+v", c, w.pace)
		}
	}
	w = newWalk(Config{})
	w.o.Budget, w.o.Action = 15*usd, usd
	w.step()
	for range 2000 {
		w.reserved()
	}
	spent, from := w.o.Spent, w.o.Planned
	w.o.Budget = 100 * usd
	for i := range 6640 {
		w.reserved()
		planned := spent + (w.o.Budget-spent)*(w.o.Planned-from)/(1-from)
		if math.Abs(w.o.Spent-planned) > 2.5*usd {
			t.Fatalf("%.2f USD after %d ticks with the raised budget, %.2f are planned", w.o.Spent/usd, i, planned/usd)
		}
	}
	if w.o.Spent < 99*usd {
		t.Errorf("%.2f USD at the end", w.o.Spent/usd)
	}
}

// TestTinyRaised: a tiny budget that is raised at noon is spent by the rest of the plan, and not at
// once.
func TestTinyRaised(t *testing.T) {
	w := newWalk(Config{})
	w.o.Budget, w.o.Action, w.o.Planned, w.o.Spent = 5*usd, usd, 0.4, 2*usd
	w.step()
	w.o.AtMs += tickMs
	w.o.Planned, w.o.Spent, w.o.Budget = 0.5, 3*usd, 15*usd
	if w.step(); !w.params.Open || math.Abs(w.pace.Allowance-usd) > 1e-3 {
		t.Errorf("%+v, %.2f USD may be spent at once", w.params, w.pace.Allowance/usd)
	}
	w.o.AtMs += tickMs
	w.o.Planned = 0.75 // half of the rest of the plan: half of 12 USD
	if w.step(); math.Abs(w.pace.Allowance-7*usd) > 1e-3 {
		t.Errorf("%.2f USD may be spent, want 7", w.pace.Allowance/usd)
	}
}

// TestReservations: beside a dumb list, for any order of ads and observations.
func TestReservations(t *testing.T) {
	type ad struct {
		at     int64
		micros float64
	}
	rapid.Check(t, func(t *rapid.T) {
		var r Reservations
		var dumb []ad
		at := int64(0)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			at += rapid.Int64Range(0, 3).Draw(t, "after")
			if rapid.IntRange(0, 4).Draw(t, "release") == 0 {
				asOf := at - rapid.Int64Range(0, 10).Draw(t, "lag")
				r.Release(asOf)
				var kept []ad
				for _, a := range dumb {
					if a.at >= asOf {
						kept = append(kept, a)
					}
				}
				dumb = kept
			}
			micros := float64(rapid.IntRange(0, 5).Draw(t, "micros"))
			left := float64(rapid.IntRange(0, 20).Draw(t, "left"))
			sum := 0.0
			for _, a := range dumb {
				sum += a.micros
			}
			if got := r.Take(at, micros, left); got != (sum+micros <= left) {
				t.Fatalf("%v of %v, %v reserved: %t", micros, left, sum, got)
			}
			if sum+micros <= left {
				dumb, sum = append(dumb, ad{at, micros}), sum+micros
			}
			if r.Sum() != sum {
				t.Fatalf("%v reserved, want %v", r.Sum(), sum)
			}
		}
	})
	var r Reservations
	if !r.Take(0, 0, 0) || len(r.list) != 0 {
		t.Errorf("%d reservations of nothing", len(r.list))
	}
	for _, micros := range []float64{-1, math.NaN(), math.Inf(1)} {
		if r.Take(0, micros, 10) || r.Sum() != 0 {
			t.Errorf("took %v", micros)
		}
	}
}
