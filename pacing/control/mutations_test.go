package control

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestMutations: each check is met by what is here, and reports the mistake that it is named
// after. Two further ones are beside what they need: a mean of ratios in
// pacing/market.TestGoals, and the day of UTC in pacing/plan.TestDayFromUTC.
func TestMutations(t *testing.T) {
	for _, c := range []struct {
		name          string
		right, mutant error
	}{
		{"product for minimum", checkLeast(Least), checkLeast(product)},
		{"position-form integrator", checkWindup(PID{}), checkWindup(positionForm{})},
		{"no in-flight", checkFlight(true), checkFlight(false)},
		{"no hold", checkHold(Config{Controller: PID{}}), checkHold(Config{Controller: PID{}, HoldAfter: time.Hour, StopAfter: 2 * time.Hour})},
		{"the rest of a budget at once", checkRest(Ratio{}), checkRest(atOnce{})},
		{"arms borrow", checkArms(func(own, _ float64) float64 { return own }), checkArms(func(own, left float64) float64 { return own + left })},
	} {
		if c.right != nil {
			t.Errorf("%s: without the mutation: %v", c.name, c.right)
		}
		if c.mutant == nil {
			t.Errorf("%s is not noticed", c.name)
		} else {
			t.Logf("%s: %v", c.name, c.mutant)
		}
	}
}

// product combines parameters by their product: a wrong Least.
func product(own Params, above ...Params) Params {
	for _, p := range above {
		own.Probability *= p.Probability
		own.Multiplier *= p.Multiplier
		own.Open = own.Open && p.Open
	}
	return own
}

// checkLeast combines three budgets that all last for the day at half of the traffic.
func checkLeast(combine func(Params, ...Params) Params) error {
	p := Params{true, 0.5, 0.8}
	if got := combine(p, p, p); got != p {
		return fmt.Errorf("three budgets that need %+v are throttled to %+v", p, got)
	}
	return nil
}

// positionForm is PID with the sum of all errors: a wrong controller.
type positionForm struct{ PID }

func (positionForm) Step(s State, sig Signals) State {
	err := sig.Planned - sig.Spent/sig.Budget
	s.Need += sig.Ticks * err // the sum
	s.Probability = bound(firstChance*math.Exp(pidProportional*err+pidIntegral*s.Need), MinProbability)
	return s
}

// checkWindup has hardly any traffic in the morning, so that the probability is at its bound, and
// then more than enough.
func checkWindup(c Controller) error {
	w := newWalk(Config{Controller: c})
	w.demand = 0.001 * usd
	w.ticks(3000)
	w.demand = 0.1 * usd
	for i := range 5600 {
		if w.next(); w.o.Spent > (w.o.Planned+0.05)*w.o.Budget {
			return fmt.Errorf("after a morning without traffic, %.3f of the budget are spent where %.3f are planned, %d s later",
				w.o.Spent/w.o.Budget, w.o.Planned, 10*i)
		}
	}
	if w.o.Spent < 0.98*w.o.Budget {
		return fmt.Errorf("only %.3f of the budget are spent", w.o.Spent/w.o.Budget)
	}
	return nil
}

// checkFlight charges ads ten minutes after they were shown, so that those of ten minutes are in
// flight when the budget is spent.
func checkFlight(seen bool) error {
	w := newWalk(Config{Controller: ASAP{}})
	var due []float64
	for range 8600 {
		w.o.AtMs += tickMs
		cost := 0.0
		if w.params.Open {
			cost = w.demand
		}
		if due = append(due, cost); len(due) > 60 {
			w.o.Spent += due[0]
			due = due[1:]
		}
		w.o.Flight = 0
		for _, c := range due {
			if seen {
				w.o.Flight += c
			}
		}
		w.step()
	}
	if over := w.o.Spent/w.o.Budget - 1; over > 0.001 {
		return fmt.Errorf("overspend of %.4f of the budget", over)
	}
	return nil
}

// checkHold hides all data for half an hour before the end of the plan.
func checkHold(cfg Config) error {
	cfg.KeepStale = true
	w := newWalk(cfg)
	w.ticks(7900)
	known := w.o
	truth, before := w.o.Spent, w.params.Probability
	for range 180 {
		if w.params.Open {
			truth += w.demand * w.params.Probability
		}
		w.o = known
		w.o.AtMs = known.AtMs + tickMs
		known.AtMs, known.AgeMs = w.o.AtMs, known.AgeMs+tickMs
		known.Planned = min(1, known.Planned+float64(tickMs)/(dayMs*23/24))
		known.Cost = 0
		w.o.Planned, w.o.Cost, w.o.AgeMs = known.Planned, 0, known.AgeMs
		w.step()
	}
	if ratio := w.params.Probability / before; ratio > 1.1 || ratio < 0.9 {
		return fmt.Errorf("the probability is %.2f times that of before, and %.3f of the budget are spent", ratio, truth/w.o.Budget)
	}
	return nil
}

// checkArms has an arm with much traffic, and one with little. budget is the budget of the first
// one, from its own and from what the other one has left.
func checkArms(budget func(own, left float64) float64) error {
	arms, err := NewArms("c", 0.5, 0.5)
	if err != nil {
		return err
	}
	budgets := arms.Budgets(100 * usd)
	busy, idle := newWalk(Config{Controller: ASAP{}}), newWalk(Config{Controller: ASAP{}})
	idle.demand = 0.001 * usd
	idle.o.Budget = float64(budgets[1])
	most := 0.0
	for range 8600 {
		idle.next()
		busy.o.Budget = budget(float64(budgets[0]), idle.o.Budget-idle.o.Spent)
		busy.next()
		most = max(most, busy.o.Cost)
	}
	if busy.o.Spent > float64(budgets[0])+most {
		return fmt.Errorf("an arm with a budget of %d spent %.0f", budgets[0], busy.o.Spent)
	}
	return nil
}

// atOnce is Ratio that spends the rest of a budget in the rest of the plan, and as fast as it can
// after its end: a wrong controller.
type atOnce struct{ Ratio }

func (atOnce) Step(s State, sig Signals) State {
	s.average(&sig)
	step := ratioUp
	if sig.Planned < planEnd {
		need := max(0, sig.Budget-sig.Spent) / ((1 - sig.Planned) * sig.Budget) * s.Need
		step = min(max(math.Pow(need/s.Cost, ratioPower), ratioDown), ratioUp)
	}
	s.Probability = bound(s.Probability*step, ratioLeast)
	return s
}

// checkRest has the end of a day that is 1 % behind its plan, with traffic for four times as much,
// whose charges are known three ticks late.
func checkRest(c Controller) error {
	const (
		budget, plan, late = 1e9, 8280, 3 // ticks
		full               = 4 * budget / plan
	)
	s := c.Start(0.25)
	s.Need, s.Cost = budget/plan, budget/plan
	spent := []float64{budget * (1 - 240.0/plan - 0.01)}
	known, before := spent[0], spent[0]
	for n := plan - 240; n < plan+360 && known < budget; n++ {
		planned := min(1, float64(n)/plan)
		s = c.Step(s, Signals{
			Budget: budget, Spent: known, Planned: planned, Grown: min(1, float64(n+1)/plan) - planned, Cost: known - before, Ticks: 1,
		})
		spent = append(spent, spent[len(spent)-1]+s.Probability*full)
		before, known = known, spent[max(0, len(spent)-1-late)]
	}
	if share := spent[len(spent)-1] / budget; share < 0.999 || share > 1.0004 {
		return fmt.Errorf("%.3f %% of the budget are spent", 100*share)
	}
	return nil
}
