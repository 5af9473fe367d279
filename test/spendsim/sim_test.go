package spendsim

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// number returns the number in an environment variable, or otherwise.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: not a number of 0 or more", name, text)
	}
	return n
}

// runAll runs seeds on all CPUs until a checker finds something.
func runAll(first, many uint64, m Mutation) []*History {
	list := make([]*History, many)
	var next atomic.Uint64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < many && !failed.Load(); i = next.Add(1) - 1 {
				list[i] = Run(Draw(first+i), m)
				if len(list[i].Violations) > 0 {
					failed.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return list
}

// TestSeeds runs WEIR_TEST_SIM_SEEDS seeds from WEIR_TEST_SIM_SEED on.
func TestSeeds(t *testing.T) {
	first, many := number(t, "WEIR_TEST_SIM_SEED", 0), number(t, "WEIR_TEST_SIM_SEEDS", 10)
	marks := map[string]int{}
	var over, starved [policies][]float64
	for _, h := range runAll(first, many, "") {
		if h == nil {
			continue
		}
		for _, v := range h.Violations {
			t.Fatalf("%v\nat %.1f s: %s: %s", h.Scenario, float64(v.At)/1000, v.Checker, v.What)
		}
		for m := range h.Marks {
			marks[m]++
		}
		for p := range policies {
			over[p], starved[p] = append(over[p], h.Over[p]), append(starved[p], h.Starved[p])
		}
	}
	t.Logf("%d seeds; runs with each mark: %v", many, marks)
	for _, m := range []string{"counter killed", "copies lost", "switched", "degraded", "fallback"} {
		if many >= 100 && uint64(marks[m]) < many/100 {
			t.Errorf("%q happened in %d of %d runs: too few to find anything", m, marks[m], many)
		}
	}
	for p := range policies {
		slices.Sort(over[p])
		slices.Sort(starved[p])
		at := func(list []float64, q float64) float64 { return list[int(q*float64(len(list)-1))] }
		t.Logf("%-9v overspend in seconds of traffic: median %.1f, p90 %.1f, p99 %.1f, most %.1f, mean %.2f; starved: p99 %.1f, most %.1f", p,
			at(over[p], .5), at(over[p], .9), at(over[p], .99), at(over[p], 1), mean(over[p]), at(starved[p], .99), at(starved[p], 1))
	}
}

func mean(list []float64) (sum float64) {
	for _, x := range list {
		sum += x / float64(len(list))
	}
	return sum
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
				for _, v := range Run(s, m.Mutation).Violations {
					if !slices.Contains(strings.Fields(m.By), v.Checker) {
						t.Errorf("seed %d: found by %s, want %s: %s", seed, v.Checker, m.By, v.What)
					}
					t.Logf("seed %d at %.1f s: %s: %s", seed, float64(v.At)/1000, v.Checker, v.What)
					return
				}
			}
			t.Errorf("not found in %d seeds", m.Seeds)
		})
	}
}
