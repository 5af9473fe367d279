package control

import "testing"

// TestMixedLimits: budgets that limit each other have different controllers. One that lowers bids
// does not hold the probability of those below it, nor the other way round: each budget is spent by
// its plan.
func TestMixedLimits(t *testing.T) {
	for _, c := range []struct{ above, below Controller }{{Dual{}, Ratio{}}, {Ratio{}, Dual{}}, {Dual{}, PID{}}, {ASAP{}, Dual{}}, {Dual{}, ASAP{}}} {
		for name, budgets := range map[string][3]float64{"above": {100 * usd, 80 * usd, 80 * usd}, "below": {300 * usd, 60 * usd, 60 * usd}} {
			t.Run(c.above.Name()+" above "+c.below.Name()+", limited "+name, func(t *testing.T) {
				a := newAccount(t, c.above, budgets[0], budgets[1], budgets[2])
				for _, w := range a.campaigns {
					w.pacer = NewPacer(Config{Controller: c.below})
				}
				for range 8600 {
					a.tick(true)
				}
				if share := a.own.o.Spent / min(budgets[0], budgets[1]+budgets[2]); share < 0.97 || share > 1.003 {
					t.Errorf("%.4f is spent", share)
				}
			})
		}
	}
}

// TestLimits: of a campaign far behind its plan, the parameter that is limited does not rise, and
// the other one does.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		controller   Controller
		limited      Limits
		raises, bids bool
	}{
		{Ratio{}, Limits{Probability: true}, false, false},
		{Ratio{}, Limits{Bids: true}, true, false},
		{Dual{}, Limits{Probability: true}, false, true},
		{Dual{}, Limits{Bids: true}, false, false},
	} {
		w := newWalk(Config{Controller: c.controller})
		w.ticks(5)
		before := w.params
		w.demand, w.o.Limited = 0, c.limited
		w.ticks(100)
		if w.params.Probability > before.Probability != c.raises || w.params.Multiplier > before.Multiplier != c.bids {
			t.Errorf("%s with %+v: %+v after %+v", c.controller.Name(), c.limited, w.params, before)
		}
	}
	w := newWalk(Config{Controller: Dual{}}) // while bids are limited, the probability is not lowered for them
	w.ticks(1000)
	w.pacer, w.o.Limited = w.pacer.With("ratio"), Limits{Bids: true}
	w.pace = w.pacer.Continue(w.pace)
	before := w.params
	if w.ticks(100); w.params.Multiplier != before.Multiplier || w.params.Probability < 0.8 {
		t.Errorf("%+v after %+v", w.params, before)
	}
}

// TestContinueLimited: a campaign that gets another controller while a budget above limits it still
// follows its own budget.
func TestContinueLimited(t *testing.T) {
	for _, c := range []struct{ from, to Controller }{{Dual{}, Ratio{}}, {Ratio{}, Dual{}}, {Dual{}, PID{}}, {PTR{}, Dual{}}} {
		t.Run(c.from.Name()+" to "+c.to.Name(), func(t *testing.T) {
			a := newAccount(t, c.from, 300*usd, 60*usd)
			w := a.campaigns[0]
			for i := range 8600 {
				switch i {
				case 2000: // the account limits the campaign from here on
					a.own.o.Budget = a.own.o.Spent + 10*usd
				case 2500:
					w.pacer = NewPacer(Config{Controller: c.to})
					w.pace = w.pacer.Continue(w.pace)
				case 4000:
					a.own.o.Budget = 300 * usd
				}
				a.tick(true)
			}
			if share := w.o.Spent / w.o.Budget; share < 0.97 || share > 1.003 {
				t.Errorf("%.4f is spent", share)
			}
		})
	}
}
