package control

import "testing"

// TestContinue: another controller paces the campaign from the morning on: parameters move by a
// step in a tick at most, and the campaign follows its plan again within two hours, or spends its
// budget as soon as it can.
func TestContinue(t *testing.T) {
	for _, from := range controllers() {
		for _, to := range controllers() {
			t.Run(from.Name()+" to "+to.Name(), func(t *testing.T) {
				w := newWalk(Config{Controller: from})
				w.ticks(1200)
				w.pacer = w.pacer.With(to.Name())
				if got := w.pacer.Controller(); got != to.Name() {
					t.Fatalf("controller %s", got)
				}
				old := w.pace
				if w.pace = w.pacer.Continue(w.pace); !w.pace.Valid() || w.pace.Ticks != 0 || w.pace.Cost != old.Cost || w.pace.Need != old.Need ||
					!(old.Cost > 0) || w.pace.Probability != w.params.Probability || w.pace.Multiplier != w.params.Multiplier {
					t.Fatalf("%+v continues at %+v", w.params, w.pace)
				}
				first, most := w.params.Probability*w.params.Multiplier, 0.0
				for range 720 {
					before := w.params
					if w.next(); stepOf(before, w.params) > MaxStep*1.000001 {
						t.Fatalf("%+v after %+v", w.params, before)
					}
					most = max(most, w.params.Probability*w.params.Multiplier)
				}
				if most > 2*first && to != Controller(ASAP{}) && to != Controller(PTR{}) { // PTR swings by more
					t.Errorf("the rate rises to %.2f of that before", most/first)
				}
				if to == Controller(Dual{}) && w.params.Probability != 1 || to != Controller(Dual{}) && w.params.Multiplier != 1 {
					t.Errorf("%+v", w.params)
				}
				switch spent, want := w.o.Spent/w.o.Budget, w.pace.target(w.o.Budget, w.o.Planned); {
				case to == Controller(ASAP{}):
					if w.params.Probability != 1 {
						t.Errorf("%+v", w.params)
					}
				case from == Controller(ASAP{}) && spent > want: // half of the budget was spent by then
				case spent > want+0.03 || spent < want-0.03:
					t.Errorf("%.3f of the budget are spent, planned are %.3f: %+v", spent, want, w.params)
				}
				w.ticks(6800)
				if spent := w.o.Spent / w.o.Budget; spent < 0.99 || spent > 1.002 {
					t.Errorf("%.4f of the budget are spent at the end", spent)
				}
			})
		}
	}
}

// TestContinueBids: in an auction in which spend grows with the square of bids, it does not run
// away while bids are raised again.
func TestContinueBids(t *testing.T) {
	for _, to := range []Controller{Ratio{}, PID{}} {
		t.Run(to.Name(), func(t *testing.T) {
			w := newWalk(Config{Controller: Dual{}})
			next := func() {
				w.demand = 0.5 * usd * w.params.Multiplier
				w.next()
			}
			for range 1200 {
				next()
			}
			before, most := w.params, 0.0
			w.pacer = w.pacer.With(to.Name())
			w.pace = w.pacer.Continue(w.pace)
			for range 360 {
				next()
				most = max(most, w.params.Probability*w.params.Multiplier*w.params.Multiplier)
			}
			if first := before.Multiplier * before.Multiplier; before.Multiplier > 0.3 || w.params.Multiplier != 1 || most > 2*first {
				t.Errorf("the spend rises to %.2f of that before, at bids of %.3f", most/first, before.Multiplier)
			}
		})
	}
}

// TestContinueUnknown: a controller that is not known is the configured one, and the state of a new
// campaign stays as it is.
func TestContinueUnknown(t *testing.T) {
	p := NewPacer(Config{Controller: Dual{}})
	for _, name := range []string{"", "learner"} {
		if got := p.With(name).Controller(); got != "dual" {
			t.Errorf("%q: %s", name, got)
		}
	}
	if got := p.With("pid").Continue(Pace{}); got != (Pace{}) {
		t.Errorf("%+v", got)
	}
}
