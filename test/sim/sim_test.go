package sim

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/test/seeds"
)

// TestSeeds runs WEIR_TEST_SIM_SEEDS seeds from WEIR_TEST_SIM_SEED on. With the latter alone it
// runs one seed and prints its transcript.
func TestSeeds(t *testing.T) {
	first, many := seeds.Number(t, "WEIR_TEST_SIM_SEED", 0), seeds.Number(t, "WEIR_TEST_SIM_SEEDS", 200)
	if os.Getenv("WEIR_TEST_SIM_SEED") != "" && os.Getenv("WEIR_TEST_SIM_SEEDS") == "" {
		h := Run(Draw(first), "", true)
		t.Logf("%v\n%v\n%s", h.Scenario, h.Marks, h.Transcript)
		many = 1
	}
	runs := seeds.Run(first, many, func(seed uint64) (run, bool) {
		h := Run(Draw(seed), "", false)
		bad := Check(h)
		return run{bad, Missing(h), h.Marks}, len(bad) > 0
	})
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
	t.Logf("%d seeds; %d runs lack a needed mark: %v; runs with each mark: %v", many, empty, missed, marks)
	if many >= 100 && 2*empty > int(many) {
		t.Errorf("%d of %d runs lack a needed mark: %v", empty, many, missed)
	}
}

// run is the part of a history that TestSeeds needs.
type run struct {
	bad     []Violation
	missing []string
	marks   map[string]int
}

// TestHomeLost: the home region is lost for longer than its write lease, early or late. The other
// regions continue to lease and adopt its resources. Then it returns, in half of the runs without a
// connection to the others at first. WEIR_TEST_SIM_SEEDS is the number of runs.
func TestHomeLost(t *testing.T) {
	t.Parallel()
	moved, back, adopted, on := 0, 0, 0, 0
	many := seeds.Number(t, "WEIR_TEST_SIM_SEEDS", 80)
	for seed := range many {
		s := homeLost(seed)
		h := Run(s, "", false)
		if bad := Check(h); len(bad) > 0 {
			t.Fatal(Explain(s, "", bad[0]))
		}
		moved, back, adopted = moved+min(1, h.Marks["home moved"]), back+min(1, h.Marks["lost home returned"]), adopted+min(1, h.Marks["adopted"])
		from := epoch + s.Faults[0].From
		for i := range h.Uses { // other regions lease after all write leases of before have ended
			if u := &h.Uses[i]; s.Regions > 2 && u.Region != regionNames[0] && u.From > from+writeLeaseMs+2000 && u.From < epoch+s.Faults[0].To {
				on++
				break
			}
		}
	}
	t.Logf("in %d runs with a lost home region, the home moved in %d, the lost region returned in %d, its resources were adopted in %d, and other regions leased in the meantime in %d", many, moved, back, adopted, on)
	if n := int(many); 2*moved < n || 2*back < n || 2*adopted < n || 4*on < n {
		t.Error("too few runs reached these situations")
	}
}

// homeLost returns the scenario of a seed in which the home region is lost, with at most two other
// faults.
func homeLost(seed uint64) *Scenario {
	s := Draw(seed)
	from := s.Warm + int64(seed%50)*100
	lost := Fault{Kind: Adopt, From: from, To: from + 9000 + int64(seed%13)*1000}
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.Kind == Adopt || f.Kind == CutRegion })
	s.Faults = append([]Fault{lost}, s.Faults[:min(len(s.Faults), int(seed%3))]...)
	if s.Heal = max(s.Heal, lost.To+12_000); seed%2 == 0 {
		cutWhenBack(s)
	}
	return s
}

// TestDeterministic: a seed gives the same transcript in each run.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		a, b := Run(Draw(seed), "", true), Run(Draw(seed), "", true)
		if a.Transcript != b.Transcript || a.Events != b.Events {
			t.Errorf("seed %d gives two transcripts, of %d and %d events", seed, a.Events, b.Events)
		}
		if quiet := Run(Draw(seed), "", false); quiet.Events != a.Events || len(quiet.Writes) != len(a.Writes) {
			t.Errorf("seed %d: the run with a transcript differs from the run without", seed)
		}
	}
}

// TestMutations: the checkers find each mutation.
func TestMutations(t *testing.T) {
	for _, m := range Mutations() {
		t.Run(strings.ReplaceAll(string(m.Mutation), " ", "-"), func(t *testing.T) {
			t.Parallel()
			missing := strings.Fields(m.By)
			for seed := uint64(0); seed < uint64(m.Seeds) && len(missing) > 0; seed++ {
				for _, v := range Check(Run(m.Draw(seed), m.Mutation, false)) {
					if i := slices.Index(missing, v.Invariant); i >= 0 {
						t.Logf("seed %d: %v", seed, v)
						missing = slices.Delete(missing, i, i+1)
					}
				}
			}
			if len(missing) > 0 {
				t.Errorf("not found by %v in %d seeds", missing, m.Seeds)
			}
		})
	}
}

// TestShrink: a failing scenario becomes smaller and still fails.
func TestShrink(t *testing.T) {
	t.Parallel()
	const mutation = "liberator ignores the quarantine"
	big := Draw(1)
	bad := Check(Run(big, mutation, false))
	if len(bad) == 0 {
		t.Fatal("nothing to shrink")
	}
	small := Shrink(big, mutation, bad[0].Invariant)
	if len(small.Faults) > 0 || small.Agents > 1 || small.Keys > 1 {
		t.Errorf("the scenario is not minimal: %v", small)
	}
	text := Explain(big, mutation, bad[0])
	for _, want := range []string{"LEASE-8", "WEIR_TEST_SIM_SEED=1", "liberate", "available from"} {
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
