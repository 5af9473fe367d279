package sim

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// number reads a number from the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: give a number that is not negative", name, text)
	}
	return n
}

// TestSeeds runs SEEDS seeds from SEED on. With only SEED given it runs that one and prints its transcript.
func TestSeeds(t *testing.T) {
	first, many := number(t, "SEED", 0), number(t, "SEEDS", 200)
	if os.Getenv("SEED") != "" && os.Getenv("SEEDS") == "" {
		h := Run(Draw(first), "", true)
		t.Logf("%v\n%v\n%s", h.Scenario, h.Marks, h.Story)
		many = 1
	}
	runs := runAll(first, many)
	empty, missed, marks := 0, map[string]int{}, map[string]int{}
	for i, r := range runs {
		if len(r.bad) > 0 {
			t.Fatal(Explain(Draw(first+uint64(i)), "", r.bad[0]))
		}
		if len(r.missing) > 0 {
			empty++
		}
		for _, m := range r.missing {
			missed[m]++
		}
		for m := range r.marks {
			marks[m]++
		}
	}
	t.Logf("%d seeds; %d count as empty, as they lack a mark: %v; runs with each mark: %v", many, empty, missed, marks)
	if many >= 100 && 2*empty > int(many) {
		t.Errorf("%d of %d runs are worth nothing: they lack a mark: %v", empty, many, missed)
	}
}

// run is what is kept of a history.
type run struct {
	bad     []Violation
	missing []string
	marks   map[string]int
}

// runAll runs seeds, on all cores, until one fails.
func runAll(first, many uint64) []run {
	runs := make([]run, many)
	var next atomic.Uint64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < many && !failed.Load(); i = next.Add(1) - 1 {
				h := Run(Draw(first+i), "", false)
				runs[i] = run{Judge(h), Missing(h), h.Marks}
				if len(runs[i].bad) > 0 {
					failed.Store(true)
				}
			}
		})
	}
	workers.Wait()
	return runs
}

// TestSame is that a seed gives the same run each time, to the letter.
func TestSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		a, b := Run(Draw(seed), "", true), Run(Draw(seed), "", true)
		if a.Story != b.Story || a.Events != b.Events {
			t.Errorf("seed %d gives two transcripts, of %d and %d events", seed, a.Events, b.Events)
		}
		if quiet := Run(Draw(seed), "", false); quiet.Events != a.Events || len(quiet.Writes) != len(a.Writes) {
			t.Errorf("seed %d: to tell the story changes it", seed)
		}
	}
}

// TestMutations is that each check finds what it is for.
func TestMutations(t *testing.T) {
	for _, m := range Mutations() {
		t.Run(strings.ReplaceAll(string(m.Mutation), " ", "-"), func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(m.Seeds) {
				for _, v := range Judge(Run(m.Draw(seed), m.Mutation, false)) {
					if strings.Contains(m.By, v.Invariant) {
						t.Logf("seed %d: %v", seed, v)
						return
					}
				}
			}
			t.Errorf("%d seeds did not show it by %s", m.Seeds, m.By)
		})
	}
}

// TestShrink is that a failure is made smaller, and stays one.
func TestShrink(t *testing.T) {
	t.Parallel()
	const wrong = "liberator knows no quarantine"
	big := Draw(1)
	bad := Judge(Run(big, wrong, false))
	if len(bad) == 0 {
		t.Fatal("nothing to shrink")
	}
	small := Shrink(big, wrong, bad[0].Invariant)
	if len(small.Faults) > 0 || small.Agents > 1 || small.Keys > 1 {
		t.Errorf("it can be smaller: %v", small)
	}
	text := Explain(big, wrong, bad[0])
	for _, want := range []string{"I20", "SEED=1", "liberate", "available from"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func BenchmarkSeed(b *testing.B) {
	n := 0
	for i := range b.N {
		n += Run(Draw(uint64(i)), "", false).Events
	}
	b.ReportMetric(float64(n)/float64(b.N), "events/op")
}
