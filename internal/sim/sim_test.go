package sim

import (
	"os"
	"strconv"
	"strings"
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
	first, many := number(t, "SEED", 0), uint64(200)
	if os.Getenv("SEED") != "" {
		many = 1
	}
	many = number(t, "SEEDS", many)
	empty, failed, missed := 0, 0, map[string]int{}
	marks := map[string]int{}
	for seed := first; seed < first+many && failed < 3; seed++ {
		h := Run(Draw(seed), "", many == 1)
		if many == 1 {
			t.Logf("%v\n%v\n%s", h.Scenario, h.Marks, h.Story)
		}
		if missing := Missing(h); len(missing) > 0 {
			empty++
			for _, m := range missing {
				missed[m]++
			}
		}
		for m := range h.Marks {
			marks[m]++
		}
		if bad := Judge(h); len(bad) > 0 {
			failed++
			t.Error(Explain(h.Scenario, "", bad[0]))
		}
	}
	t.Logf("%d seeds; %d count as empty, as they lack one of the marks: %v; runs that reached each mark: %v", many, empty, missed, marks)
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
				for _, v := range Judge(Run(Draw(seed), m.Mutation, false)) {
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
