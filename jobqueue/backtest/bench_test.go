package backtest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirhq/weir/jobqueue"
)

// benchmark runs a trace with each policy.
func benchmark(b *testing.B, tr *Trace, c Config) {
	for _, policy := range []string{"fifo", "greedy", "delay:5s"} {
		b.Run(policy, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				run(b, tr, c, policy)
			}
			b.ReportMetric(float64(b.N*len(tr.Jobs))/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// BenchmarkRun runs jobs that prefer one of 200 resources each, by the number of agents. They use
// four fifths of the time of the agents, if each job loads its resource.
func BenchmarkRun(b *testing.B) {
	for _, agents := range []int{40, 1000} {
		b.Run(fmt.Sprint(agents, "agents"), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			tr := &Trace{}
			for i := range 200 {
				tr.Classes = append(tr.Classes, jobqueue.Spec{Prefer: []string{fmt.Sprint("r", i)}})
			}
			at := 0.0
			for range 100_000 {
				at += rng.ExpFloat64() * 80_000 / 0.8 / float64(agents)
				tr.Jobs = append(tr.Jobs, Job{AtMs: int64(at), RunMs: int64(60_000 * rng.ExpFloat64()), Class: int32(rng.IntN(200))})
			}
			benchmark(b, tr, Config{Agents: Alike(tr, agents), Load: 20 * time.Second})
		})
	}
}
