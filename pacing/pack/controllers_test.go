package pack

import (
	"math"
	"testing"

	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// TestControllers: each budget is paced by the controller that the document names, arms by that of
// their campaign. With another one, and with another owner, the parameters continue in steps.
func TestControllers(t *testing.T) {
	campaign := func(id, controller string, arms ...budget.Arm) budget.Campaign {
		c := budget.Campaign{ID: id, Limit: daily(100), Arms: arms}
		c.Limit.Controller = controller
		return c
	}
	a, _ := account(t, 1, nil, campaign("fast", "asap", budget.Arm{ID: "x", PPM: 500_000}, budget.Arm{ID: "y", PPM: 500_000}),
		campaign("plain", ""), campaign("value", "dual"))
	at, spent := noon(), 30.0
	run := func(ticks int) {
		for range ticks {
			before := packs(t, a)
			tick(t, a, at, row("fast", day1, spent), row("plain", day1, spent), row("value", day1, spent))
			for _, id := range []string{"fast", "plain", "value"} {
				now, was := find(t, packs(t, a), id), find(t, before, id)
				for _, step := range []float64{now.GetProbability() / was.GetProbability(), now.GetMultiplier() / was.GetMultiplier()} {
					if math.Abs(math.Log(step)) > control.MaxStep*1.000001 {
						t.Fatalf("%v after %v", now, was)
					}
				}
			}
			at, spent = at+tickMs, spent+0.01
		}
	}
	tick(t, a, at, row("fast", day1, spent), row("plain", day1, spent), row("value", day1, spent))
	at += tickMs
	check := func(id, controller string, probability, multiplier bool) {
		t.Helper()
		n := find(t, packs(t, a), id)
		if n.GetController() != controller || n.GetProbability() < 1 != probability || n.GetMultiplier() < 1 != multiplier {
			t.Errorf("%s: %v", id, n)
		}
	}
	run(20)
	check("fast", "asap", false, false)
	check("plain", "ratio", true, false)
	check("value", "dual", false, true)
	for _, arm := range find(t, packs(t, a), "fast").GetArms() {
		if arm.GetController() != "asap" || arm.GetProbability() != 1 {
			t.Errorf("%v", arm)
		}
	}
	before := find(t, packs(t, a), "value").GetState()

	written := packs(t, a)
	next := document(t, 2, nil, campaign("fast", "pid"), campaign("plain", "asap"), campaign("value", "dual"))
	b := New("acme", a.pacer)
	b.SetVersions(a.versions.Add(next)) // it counts from the first tick of the new owner on
	b.Restore(written)
	a = b
	a.Prepare(at)
	run(1)
	if n := find(t, packs(t, a), "value").GetState(); math.Abs(math.Log(n.GetDual()/before.GetDual())) > 0.1 || n.GetCost() < before.GetCost() {
		t.Errorf("the state was %v, and is %v", before, n)
	}
	run(40)
	check("fast", "pid", false, false) // it spends little
	check("plain", "asap", false, false)
	check("value", "dual", false, true)
	a.SetVersions(a.versions.Add(document(t, 3, nil, campaign("fast", "pid"), campaign("plain", "dual"), campaign("value", "ratio"))))
	run(40)
	check("plain", "dual", false, true)
	check("value", "ratio", false, false)
	if n := find(t, packs(t, a), "value").GetState(); n.GetDual() != 0 {
		t.Errorf("%v", n)
	}

	unknown := packs(t, a) // by a version of weir with further controllers
	n := find(t, unknown, "value")
	n.Controller, n.State.Dual = "learner", 3
	b = New("acme", a.pacer)
	b.SetVersions(a.versions)
	b.Restore(unknown)
	tick(t, b, at)
	if n := find(t, packs(t, b), "value").GetState(); n.GetDual() != 0 {
		t.Errorf("%v", n)
	}
}
