package jobqueue

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkLifeCycle submits, picks and completes jobs, by the number of signatures. Half of the
// signatures prefer a resource of the agent that polls. A backlog of 100,000 jobs stays. The last
// one is watched.
func BenchmarkLifeCycle(b *testing.B) {
	for i, signatures := range []int{10, 100, 1000, 1000} {
		name := fmt.Sprint(signatures, "signatures")
		if i == 3 {
			name = "watched"
		}
		b.Run(name, func(b *testing.B) {
			q := newQueue(b, Config{})
			if i == 3 {
				q.Watch()
			}
			specs := make([]Spec, signatures)
			has := make([][]string, 8)
			for i := range specs {
				specs[i] = Spec{Require: []string{"all"}, Prefer: []string{fmt.Sprint("r", i)}}
				has[i%8] = append(has[i%8], specs[i].Prefer...)
			}
			names := make([]string, 8)
			for i := range names {
				names[i] = fmt.Sprint("agent", i)
				must(b)(q.Declare(0, names[i], &Profile{Has: append(has[i], "all")}))
			}
			rng := rand.New(rand.NewPCG(1, 1))
			id := ID(0)
			for ; id < 100_000; id++ {
				must(b)(q.Submit(0, id, &specs[rng.IntN(signatures)]))
			}
			var ds []Decision
			var err error
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				now := int64(id / 1000)
				if _, err = q.Submit(now, id, &specs[rng.IntN(signatures)]); err != nil {
					b.Fatal(err)
				}
				if ds, _, err = q.Poll(ds[:0], now, &Poll{Agent: names[id%8], N: 1, Policy: Greedy}); err != nil || len(ds) != 1 {
					b.Fatal(ds, err)
				}
				if _, err = q.Complete(now, ds[0].Agent, ds[0].ID, 1); err != nil {
					b.Fatal(err)
				}
				if id++; id%segmentSize == 0 {
					if _, err = q.Evict(now, ds[0].ID); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
		})
	}
}

// backlog returns a queue with n pending jobs of 5,000 signatures: of 4 priorities, 50 required and
// 500 preferred resources.
func backlog(b *testing.B, n int) *Queue {
	q := newQueue(b, Config{Lease: 1000 * time.Hour})
	specs := make([]Spec, 5000)
	for i := range specs {
		specs[i] = Spec{Require: []string{fmt.Sprint("q", i%50)}, Prefer: []string{fmt.Sprint("p", i/10)}, Priority: uint8(i % 4)}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for id := range ID(n) {
		must(b)(q.Submit(int64(id/10_000), id, &specs[rng.IntN(len(specs))]))
	}
	return q
}

// BenchmarkPick measures picks at 10 million pending jobs of 5,000 signatures, mostly without the
// change of the state: of an agent with all required resources and without any association, of one
// with a tenth of them, of the odd resources while all jobs of these have ended (odd/even), and of
// an agent for which there is no job.
func BenchmarkPick(b *testing.B) {
	q := backlog(b, jobs())
	resources := func(ok func(i int) bool, more ...string) *Profile {
		p := &Profile{Has: more}
		for i := range 50 {
			if ok(i) {
				p.Has = append(p.Has, fmt.Sprint("q", i))
			}
		}
		return p
	}
	must(b)(q.Declare(0, "all", resources(func(int) bool { return true })))
	must(b)(q.Declare(0, "tenth", resources(func(i int) bool { return i%10 == 0 }, "p0", "p17")))
	must(b)(q.Declare(0, "odd", resources(func(i int) bool { return i%2 == 1 })))
	must(b)(q.Declare(0, "nothing", &Profile{Has: []string{"x"}}))
	measure := func(agent string, now int64, policy Policy) {
		b.Run(fmt.Sprintf("%s/policy=%d/now=%d", agent, policy, now), func(b *testing.B) {
			a, p := q.agents[q.byName[agent]], &Poll{Policy: policy, Delay: 1000}
			took := make([]time.Duration, 0, b.N)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				at := time.Now()
				h, ok := q.pick(a, now, p)
				if !ok {
					q.retryAt(a, now, p)
				}
				took = append(took, time.Since(at))
				_ = h
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			b.ReportMetric(float64(took[len(took)-1].Nanoseconds()), "max-ns")
		})
	}
	for _, agent := range []string{"all", "tenth", "nothing"} {
		measure(agent, 1000, Greedy)
		measure(agent, 1000, Patient)
	}
	measure("all", 2_000_000, Greedy) // all jobs are pending for longer than MaxPendingWait
	b.Run("all/poll and complete", func(b *testing.B) {
		took := make([]time.Duration, 0, b.N)
		for range b.N {
			at := time.Now()
			ds, _, err := q.Poll(nil, 1000, &Poll{Agent: "all", N: 1, Policy: Greedy})
			took = append(took, time.Since(at))
			if err != nil || len(ds) != 1 {
				b.Fatal(ds, err)
			}
			must(b)(q.Complete(1000, "all", ds[0].ID, 1))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
		b.ReportMetric(float64(took[len(took)-1].Nanoseconds()), "max-ns")
	})
	for sig, row := range q.sigs.rows {
		if r := q.sigs.names[row.require[0]]; (r[len(r)-1]-'0')%2 == 1 {
			for _, l := range q.levels {
				if l != nil && sig < len(l.sets) {
					l.nonempty.clear(uint32(sig))
				}
			}
		}
	}
	measure("odd", 1000, Greedy)
	measure("odd", 2_000_000, Greedy)
}

// BenchmarkMemory reports the memory per pending job at 10 million pending jobs of 5,000
// signatures, and per finished job after eviction, when 1 % failed and 0.2 % were canceled, at
// random.
func BenchmarkMemory(b *testing.B) {
	b.Run("pending", func(b *testing.B) {
		for range b.N {
			before := heap()
			q := backlog(b, jobs())
			b.ReportMetric(float64(heap()-before)/float64(jobs()), "B/job")
			runtime.KeepAlive(q)
		}
	})
	b.Run("finished", func(b *testing.B) {
		for range b.N {
			q := newQueue(b, Config{})
			must(b)(q.Declare(0, "a", &Profile{}))
			rng := rand.New(rand.NewPCG(1, 1))
			spec := &Spec{}
			var ds []Decision
			before := heap()
			for id := range ID(jobs()) {
				must(b)(q.Submit(0, id, spec))
				ds, _, _ = q.Poll(ds[:0], 0, &Poll{Agent: "a", N: 1})
				switch x := rng.IntN(1000); {
				case x < 10:
					must(b)(q.FailForGood(0, "a", id, 1))
				case x < 12:
					must(b)(q.Cancel(0, id))
				default:
					must(b)(q.Complete(0, "a", id, 1))
				}
				if id%segmentSize == 0 && id > 0 {
					must(b)(q.Evict(0, id))
				}
			}
			must(b)(q.Evict(0, ID(jobs())))
			b.ReportMetric(8*float64(heap()-before)/float64(jobs()), "bits/job")
			runtime.KeepAlive(q)
		}
	})
}

// jobs is the number of jobs of the large benchmarks.
func jobs() int {
	if testing.Short() {
		return 3 * segmentSize
	}
	return 10_000_000 &^ (segmentSize - 1)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkState reads the states of random jobs of 10 million, on one CPU and on all, and on all
// while a goroutine starts and completes jobs.
func BenchmarkState(b *testing.B) {
	q := newQueue(b, Config{})
	must(b)(q.Declare(0, "a", &Profile{}))
	n := ID(jobs())
	for id := range n {
		must(b)(q.Submit(0, id, &Spec{}))
	}
	b.Run("one", func(b *testing.B) {
		x := uint64(1)
		for range b.N {
			x = x*6364136223846793005 + 1442695040888963407
			if q.State(ID(x>>32)*n>>32) == None {
				b.Fatal("none")
			}
		}
	})
	parallel := func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			x := rand.Uint64()
			for pb.Next() {
				x = x*6364136223846793005 + 1442695040888963407
				if q.State(ID(x>>32)*n>>32) == None {
					b.Error("none")
				}
			}
		})
	}
	b.Run("parallel", parallel)
	b.Run("parallel while jobs run", func(b *testing.B) {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ds, _, err := q.Poll(nil, 0, &Poll{Agent: "a", N: 100})
				if err != nil || len(ds) == 0 {
					b.Error(err)
					return
				}
				for _, d := range ds {
					if _, err := q.Return(0, "a", d.ID, d.Attempt); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
		parallel(b)
		close(stop)
		wg.Wait()
	})
}

// BenchmarkExplosion picks where each of 100,000 jobs has a signature of its own.
func BenchmarkExplosion(b *testing.B) {
	q := newQueue(b, Config{})
	for id := range ID(100_000) {
		must(b)(q.Submit(0, id, &Spec{Require: []string{"x"}, Prefer: []string{fmt.Sprint("a", id%317), fmt.Sprint("b", id/317)}}))
	}
	must(b)(q.Declare(0, "a", &Profile{Has: []string{"x"}}))
	a := q.agents[0]
	b.ResetTimer()
	for range b.N {
		if _, ok := q.pick(a, 1000, &Poll{Policy: Greedy}); !ok {
			b.Fatal("no job")
		}
	}
}

// BenchmarkDirac measures what CERN's DIRAC requires of a matcher (DIRACGrid/diracx#843): 10
// million waiting jobs that require some of 300 tags, a thousand matches per second, and the reason
// why a job does not run, in one call. 200 agents have 100 to 250 of the tags.
func BenchmarkDirac(b *testing.B) {
	const tags, kinds, agents = 300, 5000, 200
	q := newQueue(b, Config{Lease: 1000 * time.Hour})
	rng := rand.New(rand.NewPCG(1, 1))
	specs := make([]Spec, kinds)
	for i := range specs {
		for range 1 + rng.IntN(4) {
			specs[i].Require = append(specs[i].Require, fmt.Sprint("tag", rng.IntN(tags)))
		}
		specs[i].Priority = uint8(rng.IntN(4))
	}
	for id := range ID(jobs()) {
		must(b)(q.Submit(int64(id/10_000), id, &specs[rng.IntN(kinds)]))
	}
	for a := range agents {
		p := &Profile{}
		for _, n := range rng.Perm(tags)[:100+rng.IntN(150)] {
			p.Has = append(p.Has, fmt.Sprint("tag", n))
		}
		must(b)(q.Declare(1000, fmt.Sprint("agent", a), p))
	}
	b.Run("match", func(b *testing.B) {
		took := make([]time.Duration, 0, b.N)
		for i := range b.N {
			agent := fmt.Sprint("agent", i%agents)
			at := time.Now()
			ds, _, err := q.Poll(nil, 1000, &Poll{Agent: agent, N: 1, Policy: Greedy})
			took = append(took, time.Since(at))
			if err != nil || len(ds) != 1 {
				b.Fatal(ds, err)
			}
			must(b)(q.Complete(1000, agent, ds[0].ID, 1))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "matches/s")
	})
	b.Run("why", func(b *testing.B) {
		for range b.N {
			id := ID(jobs() - 1 - rng.IntN(1000))
			if w, err := q.Why(1000, id); err != nil || w.Agents != agents {
				b.Fatal(w, err)
			}
		}
	})
}
