package backtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/jobqueue"
)

// trace reads a trace of jobs, each "arrival run prefer require priority" with times in seconds.
// The last ones may be left out, and - is an empty list.
func trace(t testing.TB, jobs ...string) *Trace {
	t.Helper()
	var b strings.Builder
	for _, job := range jobs {
		x := strings.Fields(job)
		x = append(x, []string{"-", "-", "0"}[len(x)-2:]...)
		list := func(s string) string {
			if s == "-" {
				return "[]"
			}
			return `["` + strings.ReplaceAll(s, ",", `","`) + `"]`
		}
		at, err1 := strconv.ParseInt(x[0], 10, 64)
		ran, err2 := strconv.ParseInt(x[1], 10, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		fmt.Fprintf(&b, `{"at_ms":%d,"run_ms":%d,"prefer":%s,"require":%s,"priority":%s}`+"\n", 1000*at, 1000*ran, list(x[2]), list(x[3]), x[4])
	}
	tr, err := Read(strings.NewReader(b.String()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if tr.Bad > 0 {
		t.Fatal(tr.FirstBad)
	}
	return tr
}

// run runs a trace with a policy.
func run(t testing.TB, tr *Trace, c Config, policy string) *Result {
	t.Helper()
	p, err := ParsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tr.Run(t.Context(), c, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// agents returns n agents without resources.
func agents(n int) []Group { return []Group{{N: n}} }

// TestByHand: waits in seconds, hits, time of slots that are used and for loading, and the end of
// the last job, all computed by hand. Loading takes 20 s.
func TestByHand(t *testing.T) {
	for _, tc := range []struct {
		name     string
		jobs     []string
		config   Config
		policy   string
		waits    []int64
		hits     int
		busy     int64 // s
		loading  int64 // s
		makespan int64 // s
	}{
		{
			// The second job goes to the other agent, the third one waits for the first agent.
			"FIFO",
			[]string{"0 10 a", "1 10 a", "2 10 b"},
			Config{Agents: agents(2)},
			"fifo",
			[]int64{0, 0, 28},
			0, 90, 60, 60,
		},
		{
			// Greedy does no better, as the agent with the resource is busy.
			"greedy",
			[]string{"0 10 a", "1 10 a", "2 10 b"},
			Config{Agents: agents(2)},
			"greedy",
			[]int64{0, 0, 28},
			0, 90, 60, 60,
		},
		{
			// The second job is left to the first agent. So the third one, whose resource no agent
			// has, starts at once.
			"delay",
			[]string{"0 10 a", "1 10 a", "2 10 b"},
			Config{Agents: agents(2)},
			"delay:5s",
			[]int64{0, 29, 0},
			1, 70, 40, 40,
		},
		{
			"end of a delay",
			[]string{"0 10 a", "1 10 a"},
			Config{Agents: agents(2)},
			"delay:5s",
			[]int64{0, 5},
			0, 60, 40, 36,
		},
		{
			"a delay that the longest wait ends",
			[]string{"0 10 a", "1 10 a"},
			Config{Agents: agents(2), MaxWait: 2 * time.Second},
			"delay:5s",
			[]int64{0, 2},
			0, 60, 40, 33,
		},
		{
			// At 35 s both agents are idle, the one without the resource for longer.
			"greedy, longest idle",
			[]string{"0 10 a", "35 10 a"},
			Config{Agents: agents(2)},
			"greedy",
			[]int64{0, 0},
			0, 60, 40, 65,
		},
		{
			"delay, to the agent with the resource",
			[]string{"0 10 a", "35 10 a"},
			Config{Agents: agents(2)},
			"delay:5s",
			[]int64{0, 0},
			1, 40, 20, 45,
		},
		{
			// After 0, 30, 60, 70, 100 and 110 s: b was dropped for c, as a was used after b.
			"least recently used",
			[]string{"0 10 a", "0 10 b", "0 10 a", "0 10 c", "0 10 a", "0 10 b"},
			Config{Agents: agents(1), Associations: 2},
			"fifo",
			[]int64{0, 30, 60, 70, 100, 110},
			2, 140, 80, 140,
		},
		{
			// Greedy takes all jobs that prefer a first.
			"greedy, one agent",
			[]string{"0 10 a", "0 10 b", "0 10 a", "0 10 c", "0 10 a", "0 10 b"},
			Config{Agents: agents(1)},
			"greedy",
			[]int64{0, 50, 30, 90, 40, 80},
			3, 120, 60, 120,
		},
		{
			// Each poll of an agent is for all of its free slots.
			"slots",
			[]string{"0 10", "0 20", "0 30", "5 10"},
			Config{Agents: agents(1), Slots: 2},
			"fifo",
			[]int64{0, 0, 10, 15},
			0, 70, 0, 40,
		},
		{
			"requirements",
			[]string{"0 10 - gpu", "0 10 - gpu", "0 10"},
			Config{Agents: []Group{{N: 1, Has: []string{"gpu"}}, {N: 1}}},
			"greedy",
			[]int64{0, 10, 0},
			0, 30, 0, 20,
		},
		{
			"a resource that agents always have",
			[]string{"0 10 a", "0 10 a"},
			Config{Agents: []Group{{N: 1}, {N: 1, Has: []string{"a"}}}},
			"delay:50s",
			[]int64{0, 10},
			2, 20, 0, 20,
		},
		{
			"priority",
			[]string{"0 10", "1 10", "1 10 - - 3"},
			Config{Agents: agents(1)},
			"fifo",
			[]int64{0, 19, 9},
			0, 30, 0, 30,
		},
		{
			// The second job has waited longer than 5 s, and comes before the urgent one.
			"longest wait before priority",
			[]string{"0 10", "1 10", "8 10 - - 3"},
			Config{Agents: agents(1), MaxWait: 5 * time.Second},
			"fifo",
			[]int64{0, 9, 12},
			0, 30, 0, 30,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.config.Load = 20 * time.Second
			r := run(t, trace(t, tc.jobs...), tc.config, tc.policy)
			var waits []int64
			for _, ms := range r.waits {
				waits = append(waits, ms/1000)
			}
			slots := float64(r.Agents * r.Config.Slots)
			busy := r.Utilisation * r.Makespan.Seconds() * slots
			loading := r.Loading * r.Makespan.Seconds() * slots
			if !slices.Equal(waits, tc.waits) || r.Hits != tc.hits || math.Abs(busy-float64(tc.busy)) > 1e-6 ||
				math.Abs(loading-float64(tc.loading)) > 1e-6 || int64(r.Makespan.Seconds()) != tc.makespan {
				t.Errorf("waits %v, %d hits, busy for %g s, loading for %g s, end at %v\nwant %v, %d, %d s, %d s, %d s", waits, r.Hits, busy,
					loading, r.Makespan, tc.waits, tc.hits, tc.busy, tc.loading, tc.makespan)
			}
		})
	}
}

// TestFigures: the figures of a result, computed by hand.
func TestFigures(t *testing.T) {
	tr := trace(t, "0 10 a", "0 10 b - 2", "0 10", "0 10 a")
	r := run(t, tr, Config{Agents: agents(1), MaxWait: 19 * time.Second}, "fifo")
	// By priority: 0, 10, 20 and 30 s.
	if r.Jobs != 4 || r.Preferring != 3 || r.Hits != 1 || r.HitRate() != 1/3.0 || r.Mean != 15*time.Second || r.P50 != 10*time.Second ||
		r.P95 != 30*time.Second || r.P99 != 30*time.Second || r.Max != 30*time.Second || r.Late != 2 || r.LongestClass != "prefers a" {
		t.Errorf("%+v", r)
	}
	if r := run(t, tr, Config{Agents: agents(1), MaxWait: 20 * time.Second}, "fifo"); r.Late != 1 {
		t.Errorf("%d jobs waited longer than 20 s", r.Late)
	}
	if got := describe(&jobqueue.Spec{Require: []string{"gpu", "x"}, Prefer: []string{"a"}, Priority: 2}); got != "requires gpu+x, prefers a, priority 2" {
		t.Error(got)
	}
	if r := run(t, trace(t, "5 0"), Config{Agents: agents(1)}, "fifo"); r.Utilisation != 0 || r.Makespan != 0 || r.HitRate() != 0 || r.LongestClass != "no resources" {
		t.Errorf("%+v", r)
	}
}

// randomTrace returns a trace of up to 60 jobs in a minute, with few resources.
func randomTrace(rng *rand.Rand) *Trace {
	t := &Trace{}
	names := func(list []string) (some []string) {
		for _, name := range list {
			if rng.IntN(3) == 0 {
				some = append(some, name)
			}
		}
		return some
	}
	for range 1 + rng.IntN(8) {
		t.Classes = append(t.Classes, jobqueue.Spec{
			Require: names([]string{"gpu", "ram"}), Prefer: names([]string{"a", "b", "c", "d"}), Priority: uint8(rng.IntN(3)),
		})
	}
	for range 1 + rng.IntN(60) {
		t.Jobs = append(t.Jobs, Job{AtMs: rng.Int64N(60) * 1000, RunMs: rng.Int64N(20) * 500, Class: int32(rng.IntN(len(t.Classes)))})
	}
	t.sort()
	return t
}

func randomConfig(rng *rand.Rand) Config {
	c := Config{
		Agents: []Group{{N: 1 + rng.IntN(3), Has: []string{"gpu", "ram"}}},
		Slots:  1 + rng.IntN(3), Associations: 1 + rng.IntN(3), Load: time.Duration(rng.IntN(5)) * time.Second,
		MaxWait: time.Duration(1+rng.IntN(60)) * time.Second,
	}
	for _, has := range [][]string{nil, {"gpu"}, {"ram", "a"}} {
		if n := rng.IntN(4); n > 0 {
			c.Agents = append(c.Agents, Group{n, has})
		}
	}
	return c
}

// outcome is what a simulation and the oracle must agree on.
type outcome struct {
	waits      []int64
	hits       int
	busy, ends int64 // ms
}

// oracle runs a trace as simply as possible: after each event it polls for all idle agents until
// none gets a job. It does not know what agents keep: with greedy and delay the queue knows, by
// its associations. With FIFO it counts no hits, and loading must take no time.
func oracle(t testing.TB, tr *Trace, c Config, p Policy) (out outcome) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	q, err := jobqueue.New(jobqueue.Config{Associations: c.Associations, MaxPendingWait: c.MaxWait})
	check(err)
	type oracleAgent struct {
		name string
		free int
	}
	var idle []*oracleAgent
	for i, g := range c.Agents {
		for n := range g.N {
			a := &oracleAgent{fmt.Sprint("agent ", i, n), c.Slots}
			_, err := q.Declare(0, a.name, &jobqueue.Profile{Has: g.Has, Slots: c.Slots})
			check(err)
			idle = append(idle, a)
		}
	}
	type running struct {
		at int64
		id jobqueue.ID
		a  *oracleAgent
	}
	var ends []running
	out.waits = make([]int64, len(tr.Jobs))
	retry := int64(math.MaxInt64)
	for next := 0; ; {
		now := retry
		if next < len(tr.Jobs) {
			now = min(now, tr.Jobs[next].AtMs)
		}
		for _, e := range ends {
			now = min(now, e.at)
		}
		if now == math.MaxInt64 {
			break
		}
		slices.SortFunc(ends, func(a, b running) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
		for ; len(ends) > 0 && ends[0].at == now; ends = ends[1:] {
			_, err := q.Complete(now, ends[0].a.name, ends[0].id, 1)
			check(err)
			if ends[0].a.free++; ends[0].a.free == 1 {
				idle = append(idle, ends[0].a)
			}
		}
		for ; next < len(tr.Jobs) && tr.Jobs[next].AtMs == now; next++ {
			spec := tr.Classes[tr.Jobs[next].Class]
			if p.Kind == FIFO {
				spec.Prefer = nil
			}
			_, err := q.Submit(now, jobqueue.ID(next), &spec)
			check(err)
		}
		for started := true; started; {
			started, retry = false, math.MaxInt64
			for _, a := range idle {
				poll := p.poll()
				poll.Agent, poll.N = a.name, a.free
				ds, again, err := q.Poll(nil, now, &poll)
				check(err)
				if again > 0 {
					retry = min(retry, again)
				}
				for _, d := range ds {
					started = true
					a.free--
					j := &tr.Jobs[d.ID]
					run := j.RunMs
					if d.Learn {
						run += c.Load.Milliseconds()
					} else if p.Kind != FIFO && len(tr.Classes[j.Class].Prefer) > 0 {
						out.hits++
					}
					out.waits[d.ID] = now - j.AtMs
					out.busy += run
					out.ends = max(out.ends, now+run)
					ends = append(ends, running{now + run, d.ID, a})
				}
			}
			idle = slices.DeleteFunc(idle, func(a *oracleAgent) bool { return a.free == 0 })
		}
	}
	if done := q.Counts()[jobqueue.Done]; done != uint64(len(tr.Jobs)) {
		t.Fatalf("%d of %d jobs are done", done, len(tr.Jobs))
	}
	return out
}

// TestAgainstOracle: the simulation polls for few agents, and starts each job when and where the
// oracle does. Each job runs once, and the time of slots adds up.
func TestAgainstOracle(t *testing.T) {
	polls := []string{"fifo", "greedy", "delay:0s", "delay:3s", "delay:20s"}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		tr, c := randomTrace(rng), randomConfig(rng)
		p, err := ParsePolicy(polls[rng.IntN(len(polls))])
		if err != nil {
			t.Fatal(err)
		}
		if p.Kind == FIFO {
			c.Load = 0
		}
		if c, err = c.withDefaults(tr); err != nil {
			t.Fatal(err)
		}
		s, err := newSimulation(tr, c, p)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := outcome{r.waits, r.Hits, int64(r.busyMs), r.makespanMs}
		want := oracle(t, tr, c, p)
		if p.Kind == FIFO {
			want.hits = r.Hits
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d, %v, %+v:\n%+v, want\n%+v", seed, p, c, got, want)
		}
		ran := int64(0)
		for _, j := range tr.Jobs {
			ran += j.RunMs
		}
		if ran+int64(r.Preferring-r.Hits)*c.Load.Milliseconds() != got.busy || r.busyMs-r.loadingMs != float64(ran) {
			t.Fatalf("seed %d: busy for %d ms of which %g were loading; jobs run for %d ms", seed, got.busy, r.loadingMs, ran)
		}
		if done := s.queue.Counts()[jobqueue.Done]; done != uint64(r.Jobs) || s.pending != 0 || len(s.ends) != 0 || len(s.idle) != r.Agents {
			t.Fatalf("seed %d: %d of %d jobs are done, %d agents of %d are idle", seed, done, r.Jobs, len(s.idle), r.Agents)
		}
		holders := make([]int, len(s.holders))
		for _, a := range s.agents {
			for n := range holders {
				if a.keeps(resource(n)) {
					holders[n]++
				}
			}
		}
		if !slices.Equal(holders, s.holders) || slices.Max(append(s.wanted, 0)) != 0 {
			t.Fatalf("seed %d: %v agents have the resources, and not %v; %v are wanted", seed, holders, s.holders, s.wanted)
		}
	}
}

// TestEqualRuns: equal traces give equal results.
func TestEqualRuns(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		tr, c := randomTrace(rng), randomConfig(rng)
		a, b := run(t, tr, c, "delay:2s"), run(t, tr, c, "delay:2s")
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("seed %d: %+v and %+v", seed, a, b)
		}
	}
}

// TestRefused: settings that are not possible, and a context that has ended.
func TestRefused(t *testing.T) {
	tr := trace(t, "0 1 a gpu,tpu")
	ok := Config{Agents: Alike(tr, 1)}
	for want, change := range map[string]func(*Config){
		"0 agents":                  func(c *Config) { c.Agents = nil },
		"-1 agents":                 func(c *Config) { c.Agents = agents(-1) },
		"10001 agents":              func(c *Config) { c.Agents = append(c.Agents, Group{N: 10_000}) },
		"-1 slots":                  func(c *Config) { c.Slots = -1 },
		"an agent keeps 1001":       func(c *Config) { c.Associations = 1001 },
		"loading takes -1s":         func(c *Config) { c.Load = -time.Second },
		"a longest wait of 1µs":     func(c *Config) { c.MaxWait = time.Microsecond },
		"jobs require gpu and tpu":  func(c *Config) { c.Agents = []Group{{1, []string{"gpu"}}, {1, []string{"tpu"}}} },
		"name \"\": 1 to 256 bytes": func(c *Config) { c.Agents[0].Has = append(c.Agents[0].Has, "") },
	} {
		c := ok
		c.Agents = Alike(tr, 1)
		change(&c)
		if _, err := tr.Run(t.Context(), c, Policy{}); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tr.Run(ctx, ok, Policy{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestPolicies: the texts of policies.
func TestPolicies(t *testing.T) {
	for text, want := range map[string]Policy{
		"fifo": {}, "greedy": {Kind: Greedy}, "delay:5s": {Delay, 5 * time.Second}, "delay:0s": {Kind: Delay}, "delay:1m30s": {Delay, 90 * time.Second},
	} {
		if p, err := ParsePolicy(text); err != nil || p != want || p.String() != text {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "wait", "delay", "delay:", "delay:5", "delay:-1s", "delay:1001h", "delay:1us", "FIFO"} {
		if _, err := ParsePolicy(text); !errors.Is(err, ErrConfig) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
