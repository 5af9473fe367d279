package spendsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/test/seeds"
)

// TestSeeds runs WEIR_TEST_SIM_SEEDS seeds from WEIR_TEST_SIM_SEED on.
func TestSeeds(t *testing.T) {
	first, many := seeds.Number(t, "WEIR_TEST_SIM_SEED", 0), seeds.Number(t, "WEIR_TEST_SIM_SEEDS", 10)
	runs := seeds.Run(first, many, func(seed uint64) (*History, bool) {
		h := Run(Draw(seed), "")
		return h, len(h.Violations) > 0
	})
	marks := map[string]int{}
	for _, h := range runs {
		if h == nil {
			continue
		}
		for _, v := range h.Violations {
			t.Fatalf("%v\nat %.1f s: %s: %s", h.Scenario, float64(v.At)/1000, v.Checker, v.What)
		}
		for m := range h.Marks {
			marks[m]++
		}
	}
	t.Logf("%d seeds; runs with each mark: %v", many, marks)
	needs := func(mark string, of uint64) {
		if many >= of && uint64(marks[mark]) < many/of {
			t.Errorf("%q happened in %d of %d runs: too few to find anything", mark, marks[mark], many)
		}
	}
	for k := range faultKinds {
		needs(k.String(), 100)
	}
	for _, m := range []string{"switched", "degraded", "fail_safe", "fallback", "datacentre added"} {
		needs(m, 100)
	}
	needs("events late", 400)
	all := report(t, "all runs", runs, func(*History) bool { return true })
	if many >= 100 && all[selected] > all[own] {
		t.Errorf("the policy %v overspends by %.1f s in the mean, and %v by %.1f s", selected, all[selected], own, all[own])
	}
	report(t, "runs without fail_safe", runs, func(h *History) bool { return h.Marks["fail_safe"] == 0 })
	report(t, "runs in which a counter charges too much", runs, func(h *History) bool { return h.Marks[OverCount.String()] > 0 })
}

// report logs the overspend and the starvation under each policy, of some of the runs. It returns
// the mean overspend.
func report(t *testing.T, which string, runs []*History, of func(*History) bool) (over [policies]float64) {
	for p := range policies {
		var overspend, starvation []float64
		for _, h := range runs {
			if of(h) {
				overspend, starvation = append(overspend, h.Over[p]), append(starvation, h.Starved[p])
			}
		}
		t.Logf("%s: %d; %v overspends, in seconds of traffic: %s; and starves: %s", which, len(overspend), p, quantiles(overspend),
			quantiles(starvation))
		over[p] = mean(overspend)
	}
	return over
}

func quantiles(list []float64) string {
	if len(list) == 0 {
		return "nothing"
	}
	slices.Sort(list)
	at := func(q float64) float64 { return list[int(q*float64(len(list)-1))] }
	return fmt.Sprintf("median %.1f, p90 %.1f, p99 %.1f, most %.1f, mean %.2f", at(.5), at(.9), at(.99), at(1), mean(list))
}

func mean(list []float64) (sum float64) {
	for _, x := range list {
		sum += x / float64(len(list))
	}
	return sum
}

// TestDeterministic: a seed gives the same history in each run.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		a, b := Run(Draw(seed), ""), Run(Draw(seed), "")
		if a.Over != b.Over || a.Starved != b.Starved || !maps.Equal(a.Marks, b.Marks) {
			t.Errorf("seed %d gives two histories: %+v and %+v", seed, a, b)
		}
	}
}

// TestMutations: each injected bug is found within its number of seeds.
func TestMutations(t *testing.T) {
	for _, m := range Mutations() {
		t.Run(string(m.Mutation), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(m.Seeds) {
				s := Draw(seed)
				if m.With != nil {
					m.With(s)
				}
				found := Run(s, m.Mutation).Violations
				for _, v := range found {
					if !slices.Contains(strings.Fields(m.By), v.Checker) {
						t.Errorf("seed %d: found by %s, want %s alone: %s", seed, v.Checker, m.By, v.What)
					}
				}
				if len(found) > 0 {
					t.Logf("seed %d at %.1f s: %s: %s", seed, float64(found[0].At)/1000, found[0].Checker, found[0].What)
					return
				}
			}
			t.Errorf("not found in %d seeds", m.Seeds)
		})
	}
}
