package backtest

import (
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// realTrace reads a log of the Parallel Workloads Archive.
func realTrace(t testing.TB, name string, limit int) *Trace {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "jobs", name))
	if err != nil {
		t.Skip("the log is not on this machine: ", err)
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := Read(z, Options{Limit: limit})
	if err = errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return tr
}

// gridTrace returns the first jobs of a log of CERN's grid from 2005, with run times divided by
// 100, so that few agents are enough.
func gridTrace(t testing.TB, limit int) *Trace {
	t.Helper()
	tr := realTrace(t, "lcg2005_days0-6.swf.gz", limit)
	if err := tr.Scale(1, 0.01); err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestGridTrace: on a real log of jobs by site, greedy association finds the data of more jobs than
// FIFO, and a delay of 5 s finds those of still more.
func TestGridTrace(t *testing.T) {
	tr := gridTrace(t, 20_000)
	if len(tr.Jobs) != 20_000 || tr.Bad != 0 || tr.Unsorted || !tr.Cut || len(tr.Classes) != 159 || tr.Jobs[19_999].AtMs != 126_798_000 {
		t.Fatalf("%d jobs of %d classes, %d bad lines: %s", len(tr.Jobs), len(tr.Classes), tr.Bad, tr.FirstBad)
	}
	c := Config{Agents: Alike(tr, 40), Load: 20 * time.Second}
	hits := map[string]float64{}
	for _, policy := range []string{"fifo", "greedy", "delay:5s"} {
		r := run(t, tr, c, policy)
		hits[policy] = r.HitRate()
		t.Logf("%s: share of jobs at their data %.3f, mean wait %v, p95 %v, utilisation %.3f", policy, r.HitRate(), r.Mean, r.P95,
			r.Utilisation)
	}
	fifo, greedy, delay := hits["fifo"], hits["greedy"], hits["delay:5s"]
	if fifo == 0 || greedy < fifo || delay < 1.4*greedy || delay < 3*fifo {
		t.Errorf("a delay finds the data of %.2f times the jobs of greedy, want 1.4, and of %.2f times those of FIFO, want 3",
			delay/greedy, delay/fifo)
	}
}

// TestClusterTrace: a log with jobs whose run time is unknown. They are named.
func TestClusterTrace(t *testing.T) {
	tr := realTrace(t, "hpc2n_part.swf.gz", 0)
	if len(tr.Jobs) != 3145 || tr.Bad != 25 || tr.FirstBad != "line 34: the run time is unknown" || tr.Cut {
		t.Errorf("%d jobs, %d bad lines: %s", len(tr.Jobs), tr.Bad, tr.FirstBad)
	}
}

// BenchmarkGrid runs 20,000 jobs of the grid on 40 agents.
func BenchmarkGrid(b *testing.B) {
	tr := gridTrace(b, 20_000)
	benchmark(b, tr, Config{Agents: Alike(tr, 40), Load: 20 * time.Second})
}
