package control

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// controllers are all controllers.
func controllers() []Controller { return []Controller{PTR{}, Ratio{}, PID{}, Dual{}, ASAP{}} }

const (
	tickMs = 10_000
	dayMs  = 86_400_000
	usd    = 1_000_000
)

// walk returns observations of a day of a campaign with a budget of 100 USD, every 10 s. The cost
// of a tick depends on the parameters before it: see next.
type walk struct {
	pacer  *Pacer
	pace   Pace
	params Params
	reason Reason
	rng    *rand.Rand
	o      Observation
	scale  float64
	demand float64 // cost of a tick at full probability, micros of the budget's unit
}

func newWalk(cfg Config) *walk {
	return &walk{
		pacer: NewPacer(cfg), rng: rand.New(rand.NewPCG(1, 2)), scale: 1, demand: 0.05 * usd, params: Params{Open: true, Probability: 1, Multiplier: 1},
		o: Observation{AtMs: 1_700_000_000_000, Day: 20231114, Budget: 100 * usd},
	}
}

// next observes the next tick: the ads since the last one are charged at once.
func (w *walk) next() {
	w.o.AtMs += tickMs
	w.o.Planned = min(1, w.o.Planned+float64(tickMs)/(dayMs*23/24))
	w.o.Cost = 0
	if w.params.Open && !w.o.Paused {
		w.o.Cost = w.demand * w.scale * (0.5 + w.rng.Float64()) * w.params.Probability * w.params.Multiplier
	}
	w.o.Spent += w.o.Cost
	w.step()
}

func (w *walk) step() { w.pace, w.params, w.reason = w.pacer.Step(w.pace, w.o) }

func (w *walk) ticks(n int) {
	for range n {
		w.next()
	}
}

// each runs a test for each controller.
func each(t *testing.T, fn func(t *testing.T, w *walk)) {
	t.Helper()
	for _, c := range controllers() {
		t.Run(c.Name(), func(t *testing.T) { fn(t, newWalk(Config{Controller: c})) })
	}
}

// TestDay: a day's budget is spent, and not more than a tick's cost above it; all controllers but
// ASAP follow the plan.
func TestDay(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		most := 0.0
		for range 8600 {
			w.next()
			if w.pace.Ticks > 1000 {
				most = max(most, math.Abs(w.o.Spent/w.o.Budget-w.o.Planned))
			}
		}
		if share := w.o.Spent / w.o.Budget; share < 0.99 || share > 1.001 {
			t.Errorf("spent %.4f of the budget", share)
		}
		if name := w.pacer.cfg.Controller.Name(); name != "asap" && most > 0.06 {
			t.Errorf("%.3f of the budget away from the plan", most)
		}
	})
}

// TestInvariance: the unit of money and the date change nothing.
func TestInvariance(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		other := newWalk(w.pacer.cfg)
		other.scale = 1000
		other.o.Budget *= 1000
		other.o.AtMs += 7 * dayMs
		other.o.Day += 7
		for range 2000 {
			w.next()
			other.next()
			if math.Abs(w.params.Probability-other.params.Probability) > 1e-9 || math.Abs(w.params.Multiplier-other.params.Multiplier) > 1e-9 {
				t.Fatalf("%+v and %+v after %d ms", w.params, other.params, w.o.AtMs)
			}
		}
	})
}

// TestHold: while data are stale the parameters stay, and the gate closes by the extrapolated
// spend. After ten minutes the campaign stops.
func TestHold(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		w.ticks(1000)
		held, stopped := w.params, 0
		for w.o.AgeMs = tickMs; w.o.AgeMs < 700_000; w.o.AgeMs += tickMs {
			w.o.AtMs += tickMs
			w.o.Planned += float64(tickMs) / (dayMs * 23 / 24)
			w.step()
			if w.o.AgeMs < 30_000 {
				held = w.params
				continue
			}
			if w.params.Probability != held.Probability || w.params.Multiplier != held.Multiplier {
				t.Fatalf("%+v after %d ms without data, before %+v", w.params, w.o.AgeMs, held)
			}
			if stops := w.o.AgeMs >= 600_000; w.params.Open == stops || stops != (w.reason == TooOld) {
				t.Fatalf("%+v %s after %d ms", w.params, w.reason, w.o.AgeMs)
			}
			stopped++
		}
		if stopped == 0 {
			t.Fatal("nothing was checked")
		}
		// Nearly all is spent: the gate closes while the data are stale, before the truth is known.
		w.o.AgeMs, w.o.Spent = 0, w.o.Budget-2*w.pace.Rate
		w.next()
		w.o.Spent = w.o.Budget - 2*w.pace.Rate
		w.step()
		for w.o.AgeMs = tickMs; w.params.Open; w.o.AgeMs += tickMs {
			if w.o.AtMs += tickMs; w.o.AgeMs > 60_000 {
				t.Fatalf("open after %d ms without data, with the budget of two ticks left", w.o.AgeMs)
			}
			w.step()
		}
	})
}

// TestNaiveBlindness: a controller that takes missing data for no spend raises its probability.
func TestNaiveBlindness(t *testing.T) {
	w := newWalk(Config{Controller: PID{}})
	w.ticks(3000)
	before := w.params.Probability
	for range 60 {
		w.o.AtMs += tickMs
		w.o.Planned += float64(tickMs) / (dayMs * 23 / 24)
		w.o.Cost = 0
		w.step()
	}
	if w.params.Probability < 1.2*before {
		t.Errorf("%.3f, before %.3f: the test of held parameters proves nothing", w.params.Probability, before)
	}
}

// TestRefund: a spent campaign opens again only if a refund leaves enough of the budget.
func TestRefund(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		w.ticks(100)
		w.o.Spent = w.o.Budget
		w.step()
		for _, c := range []struct {
			spent float64
			open  bool
		}{{1, false}, {0.999, false}, {0.996, false}, {0.994, true}, {0.999, true}, {1.0001, false}} {
			w.o.Spent = c.spent * w.o.Budget
			if w.step(); w.params.Open != c.open || (w.reason == Spent) == c.open {
				t.Errorf("with %.4f of the budget spent: %+v, %s", c.spent, w.params, w.reason)
			}
		}
	})
}

// TestBudget: a budget that is raised, cut or taken away at any time is obeyed at once, without a
// burst.
func TestBudget(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		rng := rand.New(rand.NewPCG(3, 4))
		w.ticks(500)
		for range 60 {
			w.ticks(1 + rng.IntN(60))
			w.o.Budget = [...]float64{w.o.Spent / 2, w.o.Spent * 1.1, 50 * usd, 100 * usd, 500 * usd, 0}[rng.IntN(6)]
			for range 30 {
				before := w.params
				w.next()
				if got := w.o.Budget > w.o.Spent+ReopenShare*w.o.Budget; got && !w.params.Open || w.o.Spent >= w.o.Budget && w.params.Open {
					t.Fatalf("open %t with %.0f of %.0f spent", w.params.Open, w.o.Spent, w.o.Budget)
				}
				if step := stepOf(before, w.params); step > MaxStep+1e-9 {
					t.Fatalf("a step of %.3f after a new budget", step)
				}
			}
		}
	})
}

// stepOf returns the greatest change of a logarithm.
func stepOf(a, b Params) float64 {
	return max(math.Abs(math.Log(a.Probability/b.Probability)), math.Abs(math.Log(a.Multiplier/b.Multiplier)))
}

// TestPause: after a pause of a day the parameters are those of before, and no burst follows.
func TestPause(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		w.ticks(1000)
		before := w.params
		w.o.Paused = true
		w.ticks(3000)
		if w.reason != PausedNow || stepOf(before, w.params) > 0 {
			t.Errorf("%+v %s while paused, before %+v", w.params, w.reason, before)
		}
		w.o.Paused = false
		for range 10 {
			last := w.params
			if w.next(); stepOf(last, w.params) > MaxStep+1e-9 {
				t.Fatalf("from %+v to %+v after a pause", last, w.params)
			}
		}
	})
}

// TestNewDay: a day begins with the mean probability of the day before, and forgets its spend.
func TestNewDay(t *testing.T) {
	w := newWalk(Config{})
	w.ticks(8500)
	mean := w.pace.Chance / w.pace.Ticks
	w.o.Day, w.o.Spent, w.o.Flight, w.o.Planned = 20231115, 0, 0, 0
	w.step()
	if !w.params.Open || math.Abs(w.params.Probability-mean) > 1e-12 || w.pace.AnchorSpent != 0 {
		t.Errorf("%+v, the mean of the day before is %.3f", w.params, mean)
	}
	bids := newWalk(Config{Controller: Dual{}})
	bids.demand = 0.5 * usd
	bids.ticks(8500)
	mean = bids.pace.Chance / bids.pace.Ticks
	bids.o.Day, bids.o.Spent, bids.o.Flight, bids.o.Planned = 20231115, 0, 0, 0
	if bids.step(); math.Abs(bids.params.Multiplier-mean) > 1e-12 || mean > 0.1 || mean < leastChance {
		t.Errorf("%+v, the mean of the day before is %.3f", bids.params, mean)
	}
	idle := newWalk(Config{})
	idle.demand = 0
	idle.ticks(8500)
	idle.o.Day = 20231115
	if idle.step(); idle.params.Probability != mostChance {
		t.Errorf("%+v after a day without traffic", idle.params)
	}
}

// TestLate: ticks that are late, missed or doubled change the result as little as their time does.
func TestLate(t *testing.T) {
	each(t, func(t *testing.T, w *walk) {
		w.ticks(1000)
		late := *w
		steady, o := w.pace, w.o
		o.Cost = 0.01 * usd
		for range 3 {
			o.AtMs += tickMs
			o.Spent += o.Cost
			o.Planned += float64(tickMs) / (dayMs * 23 / 24)
			steady, _, _ = w.pacer.Step(steady, o)
		}
		once := o
		once.Cost *= 3
		got, params, _ := late.pacer.Step(late.pace, once)
		if math.Abs(math.Log(got.Probability/steady.Probability)) > 0.01 || math.Abs(math.Log(got.Multiplier/steady.Multiplier)) > 0.01 {
			t.Errorf("%+v after one tick of 30 s, %+v after three", got.State, steady.State)
		}
		again, same, reason := late.pacer.Step(got, once)
		if same != params || again.State != got.State || reason != FirstTick {
			t.Errorf("a doubled tick: %+v %s, before %+v", again, reason, got)
		}
		once.AtMs -= dayMs
		if back, same, _ := late.pacer.Step(got, once); same != params || back.AtMs != got.AtMs {
			t.Errorf("a tick from the past: %+v", back)
		}
	})
}

// wild is a learner whose results have any numbers.
type wild struct{ numbers []float64 }

func (wild) Name() string { return "wild" }

func (w wild) Start(float64) State { return w.Step(State{}, Signals{}) }

func (w wild) Step(_ State, sig Signals) State {
	at := math.Float64bits(sig.Spent + sig.Cost + sig.Planned)
	next := func() float64 { at++; return w.numbers[at%uint64(len(w.numbers))] }
	return State{next(), next(), next(), next(), next(), next()}
}

// TestLearner: the result of a controller is limited, and one that is not a number is not used.
func TestLearner(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ got, want State }{
		{State{Probability: nan, Multiplier: 0.5, Cost: 7}, State{Probability: 0.5, Multiplier: 0.5, Cost: 3}},
		{State{Probability: 0.5, Multiplier: nan, Cost: 7}, State{Probability: 0.5, Multiplier: 0.5, Cost: 3}},
		{State{Probability: 0.6, Multiplier: 0.5, Dual: math.Inf(1)}, State{Probability: 0.5, Multiplier: 0.5, Cost: 3}},
		{State{Probability: 0.51, Multiplier: 0.49, Cost: 7}, State{Probability: 0.51, Multiplier: 0.49, Cost: 7}},
		{State{Probability: 1, Multiplier: -1, Cost: 7}, State{Probability: 0.5 * math.Exp(MaxStep), Multiplier: 0.5 / math.Exp(MaxStep), Cost: 7}},
	} {
		got, before := c.got, State{Probability: 0.5, Multiplier: 0.5, Cost: 3}
		if got.limit(&before, 1); got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
	w := newWalk(Config{Controller: wild{[]float64{nan}}})
	if w.ticks(3); w.params != (Params{true, firstChance, 1}) {
		t.Errorf("%+v of a learner without a number", w.params)
	}
}

// TestNever: data that are older than a Duration can be are too old.
func TestNever(t *testing.T) {
	for _, age := range []int64{9_223_372_036_855, 1 << 53, math.MaxInt64} {
		w := newWalk(Config{})
		w.ticks(3)
		w.o.AgeMs = age
		if w.step(); w.params.Open || w.reason != TooOld {
			t.Errorf("%+v %s after %d ms", w.params, w.reason, age)
		}
	}
}

// TestPlanFalls: after the plan has fallen, such as by a longer flight, what is left of the budget
// is spread over what is left of the plan, also if the budget was changed before.
func TestPlanFalls(t *testing.T) {
	for _, budget := range []float64{100 * usd, 110 * usd} {
		each(t, func(t *testing.T, w *walk) {
			w.ticks(4200)
			w.o.Budget = budget
			w.ticks(600)
			w.o.Planned /= 2
			from, spent := w.o.Planned, w.o.Spent
			for w.o.Planned < 2*from {
				w.next()
			}
			planned := spent + (budget-spent)*from/(1-from)
			if name := w.pacer.cfg.Controller.Name(); name != "asap" && w.o.Spent > planned+0.03*budget {
				t.Errorf("with a budget of %.0f USD, %.1f were spent when the plan fell to %.2f, and %.1f at %.2f: %.1f are planned",
					budget/usd, spent/usd, from, w.o.Spent/usd, w.o.Planned, planned/usd)
			}
		})
	}
}

// TestEarlierDay: an observation of yesterday that comes late changes nothing. An earlier date at a
// later time, after a change of the time zone, begins a day.
func TestEarlierDay(t *testing.T) {
	w := newWalk(Config{})
	w.ticks(8500)
	late := w.o
	w.o.Day, w.o.Spent, w.o.Planned = 20231115, 0, 0
	w.ticks(100)
	before, params := w.pace, w.params
	if got, same, reason := w.pacer.Step(w.pace, late); got != before || same != params || reason != Earlier {
		t.Errorf("%+v %+v %s, before %+v", got, same, reason, before)
	}
	w.o.Budget = 0 // stopped: late data do not open the gate
	w.step()
	if _, got, _ := w.pacer.Step(w.pace, late); got.Open {
		t.Errorf("%+v without a budget", got)
	}
	late.AtMs = w.o.AtMs + tickMs
	if got, _, reason := w.pacer.Step(w.pace, late); got.Day != late.Day || reason == Earlier {
		t.Errorf("%+v %s in another time zone", got, reason)
	}
}

// TestStep: parameters are in their bounds and move by one step at most, whatever is observed, and
// equal steps give equal results.
func TestStep(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1e9), rapid.SampledFrom([]float64{
		0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
	}))
	rapid.Check(t, func(t *rapid.T) {
		learner := wild{rapid.SliceOfN(number, 1, 12).Draw(t, "learner")}
		p := NewPacer(Config{Controller: rapid.SampledFrom(append(controllers(), learner)).Draw(t, "controller"), KeepStale: rapid.Bool().Draw(t, "keep")})
		var s Pace
		var last Params
		at, day := rapid.Int64Range(1, 1<<50).Draw(t, "begin"), int32(20260101)
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			at += rapid.SampledFrom([]int64{0, 1, tickMs, tickMs, tickMs, 3 * tickMs, -tickMs, dayMs}).Draw(t, "after")
			next := rapid.IntRange(0, 20).Draw(t, "new day") == 0
			if next {
				day++
			}
			was, late := s.AtMs, i > 0 && !next && rapid.IntRange(0, 20).Draw(t, "late") == 0
			o := Observation{
				AtMs: at, Day: day, Budget: number.Draw(t, "budget"), Spent: number.Draw(t, "spent"), Flight: number.Draw(t, "flight"),
				Cost: number.Draw(t, "cost"), Planned: number.Draw(t, "planned"), AgeMs: rapid.OneOf(rapid.Int64Range(-1, 700_000), rapid.Int64()).Draw(t, "age"),
				Paused: rapid.Bool().Draw(t, "paused"), Delayed: rapid.Bool().Draw(t, "delayed"), Limited: Limits{rapid.Bool().Draw(t, "limited"), rapid.Bool().Draw(t, "bids limited")},
				Action: number.Draw(t, "action"),
			}
			if late {
				o.Day, o.AtMs = day-1, was
			}
			state, params, reason := p.Step(s, o)
			if late && (state != s || params != last || reason != Earlier) {
				t.Fatalf("an observation of an earlier day: %+v, before %+v", state, s)
			}
			if a, b, _ := p.Step(s, o); a != state || b != params {
				t.Fatalf("the same step gives %+v and %+v", a, state)
			}
			s = state
			if !(params.Probability >= MinProbability && params.Probability <= 1 && params.Multiplier > 0 && params.Multiplier <= 1) {
				t.Fatalf("%+v, %s", params, reason)
			}
			if !state.Valid() && o.AtMs != 0 {
				t.Fatalf("%+v", state)
			}
			if o.clean(); reason != Earlier && !(state.Allowance >= 0 && state.Allowance <= max(0, o.Budget-(o.Spent+o.Flight))) {
				t.Fatalf("allowance %v, %s: %+v", state.Allowance, reason, o)
			}
			ticks := min(max(float64(at-was)/tickMs, 0), maxTicks)
			if i > 0 && !next && stepOf(last, params) > MaxStep*ticks+1e-9 {
				t.Fatalf("from %+v to %+v in %.1f ticks", last, params, ticks)
			}
			last = params
		}
	})
}

func TestCoin(t *testing.T) {
	if Coin("request", "campaign") != Coin("request", "campaign") || Coin("a", "b") == Coin("b", "a") || Coin("ab", "c") == Coin("a", "bc") {
		t.Error("the coin is not that of the request and the campaign")
	}
	const n = 100_000
	below, both := 0, 0
	for i := range n {
		a, b := Coin(fmt.Sprint(i), "x"), Coin(fmt.Sprint(i), "y")
		if a < 0 || a >= 1 {
			t.Fatalf("coin %v", a)
		}
		if a < 0.3 {
			below++
			if b < 0.3 {
				both++
			}
		}
	}
	if math.Abs(float64(below)/n-0.3) > 0.006 || math.Abs(float64(both)/n-0.09) > 0.004 {
		t.Errorf("%d of %d below 0.3, %d of two campaigns", below, n, both)
	}
}

func TestLeast(t *testing.T) {
	own := Params{true, 0.5, 0.9}
	if got := Least(own, Params{true, 0.4, 1}, Params{true, 0.7, 0.8}); got != (Params{true, 0.4, 0.8}) {
		t.Errorf("%+v", got)
	}
	if got := Least(own, Params{false, 1, 1}); got.Open {
		t.Errorf("%+v below a spent account", got)
	}
}
