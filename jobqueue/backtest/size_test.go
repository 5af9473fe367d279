package backtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestSize: 100 jobs of 10 s, one each second, need 10 agents if none of them is to wait, and 9 if
// they may wait for 11 s.
func TestSize(t *testing.T) {
	var jobs []string
	for i := range 100 {
		jobs = append(jobs, fmt.Sprint(i, " 10 - gpu"))
	}
	tr := trace(t, jobs...)
	for _, tc := range []struct {
		target time.Duration
		agents int
	}{{0, 10}, {11 * time.Second, 9}, {time.Hour, 1}} {
		r, ok, err := tr.Size(t.Context(), Config{}, Policy{}, tc.target)
		if err != nil || !ok || r.Agents != tc.agents || r.P95 > tc.target {
			t.Errorf("%v: %+v, %t, %v, want %d agents", tc.target, r, ok, err, tc.agents)
		}
	}
	if _, _, err := tr.Size(t.Context(), Config{}, Policy{}, -1); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
	// The other jobs are left to the agent that has a, and wait for their delay.
	r, ok, err := trace(t, "0 9 a", "0 9 a", "0 9 a").Size(t.Context(), Config{}, Policy{Delay, 5 * time.Second}, time.Second)
	if err != nil || ok || r.Agents != 3 || r.P95 != 5*time.Second {
		t.Errorf("%+v, %t, %v", r, ok, err)
	}
}

// TestSizeIsLeast: one agent less does not meet the target.
func TestSizeIsLeast(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		tr, target := randomTrace(rng), time.Duration(rng.IntN(10))*time.Second
		c := Config{Slots: 1 + rng.IntN(2), Load: 2 * time.Second}
		p := Policy{Kind(rng.IntN(3)), time.Second}
		r, ok, err := tr.Size(t.Context(), c, p, target)
		if err != nil {
			t.Fatal(err)
		}
		if ok != (r.P95 <= target) || !ok && r.Agents != len(tr.Jobs) {
			t.Fatalf("seed %d: %t, %+v", seed, ok, r)
		}
		if c.Agents = Alike(tr, r.Agents-1); !ok || r.Agents == 1 {
			continue
		}
		if less := run(t, tr, c, p.String()); less.P95 <= target {
			t.Errorf("seed %d, %v: %d agents, and %d are enough for %v: %v", seed, p, r.Agents, less.Agents, target, less.P95)
		}
	}
}
