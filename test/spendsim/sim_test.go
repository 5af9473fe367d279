package spendsim

import (
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
	needed := []string{"switched", "degraded", "fail_safe", "fallback", "events late", "datacentre added"}
	for k := range faultKinds {
		needed = append(needed, k.String())
	}
	for _, m := range needed {
		if many >= 100 && uint64(marks[m]) < many/100 {
			t.Errorf("%q happened in %d of %d runs: too few to find anything", m, marks[m], many)
		}
	}
	report(t, "all runs", runs)
	report(t, "runs in which a counter counts too much", slices.DeleteFunc(runs, func(h *History) bool {
		return h.Marks[OverCount.String()] == 0
	}))
}

// report logs the overspend and the starvation under each policy. In many runs it checks that to
// choose a dataset is better than to use the own one.
func report(t *testing.T, which string, runs []*History) {
	t.Logf("%s: %d, in seconds of traffic:", which, len(runs))
	if len(runs) == 0 {
		return
	}
	means := map[string][policies]float64{}
	for _, kind := range []string{"overspend", "starvation"} {
		for p := range policies {
			var list []float64
			for _, h := range runs {
				if kind == "overspend" {
					list = append(list, h.Over[p])
				} else {
					list = append(list, h.Starved[p])
				}
			}
			slices.Sort(list)
			at := func(q float64) float64 { return list[int(q*float64(len(list)-1))] }
			m := means[kind]
			m[p] = mean(list)
			means[kind] = m
			t.Logf("%-10s of %-9v: median %4.1f, p90 %4.1f, p99 %5.1f, most %5.1f, mean %.2f", kind, p, at(.5), at(.9), at(.99), at(1), m[p])
		}
	}
	if m := means["overspend"]; len(runs) >= 100 && m[selected] > m[own] {
		t.Errorf("the policy %v overspends by %.1f s in the mean, and %v by %.1f s", selected, m[selected], own, m[own])
	}
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
