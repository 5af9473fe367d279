package market

import (
	"math"
	"reflect"
	"testing"

	"github.com/weirhq/weir/pacing/control"
)

// contender returns a contender by its name.
func contender(t *testing.T, name string) Contender {
	t.Helper()
	for _, c := range Contenders() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no contender %s", name)
	return Contender{}
}

func scenario(t *testing.T, name string) Scenario {
	t.Helper()
	for _, s := range Scenarios() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no scenario %s", name)
	return Scenario{}
}

// TestGoals: the controllers reach their goals in two markets, and the ways in which a controller
// may be wrong miss them in one. It simulates seventeen days, of a third of a second each.
func TestGoals(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates seventeen days")
	}
	first, second := []*Market{New(1)}, []*Market{New(2)}
	run := func(markets []*Market, name, of string) Result {
		r := Mean(markets, contender(t, name), scenario(t, of))
		t.Logf("%s, %s: overspend %.3f %%, utilisation %.2f %%, AvgErr %.1f %%, KS %.1f %%, value %.3f, step %.2f %%", name, of, 100*r.Overspend,
			100*r.Utilisation, 100*r.AvgErr, 100*r.KS, r.Value, 100*r.Step)
		return r
	}
	of := map[string]Result{} // in the first market
	for _, name := range []string{"pid-flight", "ratio-flight", "dual-flight"} {
		of[name] = run(first, name, "ordinary")
		var r Result
		r.add(of[name], 0.5)
		r.add(run(second, name, "ordinary"), 0.5)
		if r.Overspend > 0.0008 || r.AvgErr > 0.4 || r.KS > 0.035 || r.Utilisation < 0.995 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	pid, ratio, dual := of["pid-flight"], of["ratio-flight"], of["dual-flight"]
	if dual.Value < 1.1*ratio.Value {
		t.Errorf("dual buys %.3f for a unit, ratio %.3f: want 10 %% more", dual.Value, ratio.Value)
	}
	if ptr := run(first, "ptr-60s", "ordinary"); ptr.AvgErr < 2*pid.AvgErr {
		t.Errorf("PTR is %.2f off the plan, and PID %.2f", ptr.AvgErr, pid.AvgErr)
	}
	if without := run(first, "pid", "ordinary"); without.Overspend < 1.5*pid.Overspend {
		t.Errorf("overspend of %.5f without the cost in flight, %.5f with it", without.Overspend, pid.Overspend)
	}
	// What ad servers report is worth as much as to know what is in flight.
	charges, reports := run(first, "ratio-charges", "ordinary"), run(first, "ratio-reports", "ordinary")
	if reports.Overspend > 0.25*charges.Overspend || reports.Overspend > 1.2*ratio.Overspend || reports.AvgErr > 1.1*ratio.AvgErr {
		t.Errorf("by charges %+v, by reports %+v, by what is in flight %+v", charges, reports, ratio)
	}
	for _, name := range []string{"pid-flight", "ratio-flight"} {
		if hold, blind := run(first, name, "hold"), run(first, name, "blind"); hold.Overspend > 0.0009 || blind.Overspend < 0.003 {
			t.Errorf("%s: overspend of %.5f where it holds, %.5f where it continues", name, hold.Overspend, blind.Overspend)
		}
	}
	// A mean of ratios is dominated by the ticks that cost little: the budget is spent too early.
	if wrong := Mean(first, Contender{Controller: meanOfRatios{}, Knows: Flight}, scenario(t, "ordinary")); wrong.KS < 5*ratio.KS {
		t.Errorf("%.3f of the budget away from the plan, and %.3f with a mean of ratios", ratio.KS, wrong.KS)
	}
}

// meanOfRatios is Ratio with a mean of the ratios of ticks, in place of the ratio of means: a wrong
// controller.
type meanOfRatios struct{ control.Ratio }

func (meanOfRatios) Step(s control.State, sig control.Signals) control.State {
	if sig.Grown > 0 && sig.Planned < 1 {
		left := max(0, sig.Budget-sig.Spent) / (1 - sig.Planned)
		s.Dual += 0.05 * (left*sig.Grown/max(sig.Cost, 1) - s.Dual)
		s.Probability = min(max(s.Probability*min(max(math.Pow(s.Dual, 0.05), 0.92), 1.08), 1e-3), 1)
	}
	return s
}

// TestSeed: a day depends on the seed and on nothing else. Two hours of it show that.
func TestSeed(t *testing.T) {
	run := Run{Controller: control.PID{}, Knows: Flight}
	const twoHours = steps / 12
	a, b, c := newMarket(1, twoHours), newMarket(1, twoHours), newMarket(2, twoHours)
	first, again, other := Simulate(a, run), Simulate(b, run), Simulate(c, run)
	if !reflect.DeepEqual(a, b) || first != again || first == other || first.Utilisation == 0 {
		t.Errorf("%+v\n%+v\n%+v", first, again, other)
	}
}
