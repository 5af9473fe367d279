package jobqueue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// plant is a simulated queue of jobs of differing resources: one attempt ends each millisecond.
type plant struct {
	t      *testing.T
	q      *Queue
	rng    *rand.Rand
	now    int64
	id     ID
	agents int
	fails  func(s *Spec, agent string) float64 // probability of the failure of an attempt
	alarms []Alarm
}

const plantResources = 20

// newPlant returns a plant with agents that have all resources r0 to r19, and a rack each.
func newPlant(t *testing.T, seed uint64) *plant {
	p := &plant{t: t, q: newQueue(t, Config{MaxAttempts: 1, Blacklist: -1}), rng: rand.New(rand.NewPCG(seed, 7)), agents: 40}
	p.q.Watch()
	for a := range p.agents {
		has := []string{fmt.Sprint("rack:", a%8)}
		for r := range plantResources {
			has = append(has, fmt.Sprint("r", r))
		}
		must(t)(p.q.Declare(0, fmt.Sprint("a", a), &Profile{Has: has}))
	}
	p.fails = func(*Spec, string) float64 { return 0.01 }
	return p
}

// spec returns a job that requires one or two resources, and prefers one of eight models or none.
func (p *plant) spec() *Spec {
	s := &Spec{Require: []string{fmt.Sprint("r", p.rng.IntN(plantResources))}}
	if p.rng.IntN(2) == 0 {
		s.Require = append(s.Require, fmt.Sprint("r", p.rng.IntN(plantResources)))
	}
	if p.rng.IntN(2) == 0 {
		s.Prefer = []string{fmt.Sprint("model:", p.rng.IntN(8))}
	}
	return s
}

// run runs n jobs, one each millisecond, or until the next alarm.
func (p *plant) run(n int, untilAlarm bool) (ran int) {
	before := len(p.alarms)
	for ran = range n {
		p.now++
		s := p.spec()
		must(p.t)(p.q.Submit(p.now, p.id, s))
		p.id++
		agent := fmt.Sprint("a", p.rng.IntN(p.agents))
		ds, _, err := p.q.Poll(nil, p.now, &Poll{Agent: agent, N: 1, Policy: Greedy})
		if err != nil || len(ds) != 1 {
			p.t.Fatal(ds, err)
		}
		if p.rng.Float64() < p.fails(s, agent) {
			must(p.t)(p.q.Fail(p.now, agent, ds[0].ID, 1))
		} else {
			must(p.t)(p.q.Complete(p.now, agent, ds[0].ID, 1))
		}
		if p.now%1000 == 0 {
			p.q.Sample(p.now)
		}
		p.alarms = append(p.alarms, p.q.Alarms()...)
		if untilAlarm && len(p.alarms) > before {
			return ran + 1
		}
	}
	return n
}

// TestOutageNamed: when a resource, a model, an agent, a rack or the whole queue breaks, the alarm
// names it, first of its list in at least 95 of 100 histories, in less than 100 jobs that need it
// and, at 1,000 jobs a second, in less than 500 ms. A resource is one that 7 % of the jobs need.
func TestOutageNamed(t *testing.T) {
	for _, x := range []struct {
		subject string
		share   float64 // of failures in the outage
		most    int     // jobs until the alarm, of all resources: the median
		fails   func(s *Spec, agent string) bool
	}{
		{"resource r3", 1, 300, func(s *Spec, _ string) bool { return slices.Contains(s.Require, "r3") }},
		{"resource r3", 0.8, 400, func(s *Spec, _ string) bool { return slices.Contains(s.Require, "r3") }},
		{"resource model:5", 1, 400, func(s *Spec, _ string) bool { return slices.Contains(s.Prefer, "model:5") }},
		{"agent a7", 1, 800, func(_ *Spec, agent string) bool { return agent == "a7" }},
		{"agents with rack:2", 1, 400, func(_ *Spec, agent string) bool {
			return slices.Contains([]string{"a2", "a10", "a18", "a26", "a34"}, agent)
		}},
		{"queue", 1, 100, func(*Spec, string) bool { return true }},
	} {
		t.Run(fmt.Sprint(x.subject, x.share), func(t *testing.T) {
			var took, concerned []int
			named := 0
			for seed := range histories(t, 100) {
				p := newPlant(t, seed)
				if p.run(2000, true); len(p.alarms) > 0 {
					t.Fatalf("seed %d: an alarm without an outage: %s", seed, p.alarms[0].Text)
				}
				n := 0
				p.fails = func(s *Spec, agent string) float64 {
					if !x.fails(s, agent) {
						return 0.01
					}
					n++
					return x.share
				}
				took = append(took, p.run(10_000, true))
				concerned = append(concerned, n)
				if len(p.alarms) > 0 && p.alarms[0].Subject == x.subject {
					named++
				}
			}
			slices.Sort(took)
			slices.Sort(concerned)
			n := len(took)
			t.Logf("%s, %.0f %% fail: named first in %d of %d; jobs until the alarm: median %d, p95 %d; of them concerned: %d and %d",
				x.subject, 100*x.share, named, n, took[n/2], took[n*95/100], concerned[n/2], concerned[n*95/100])
			if 100*named < 95*n || took[n/2] > x.most || concerned[n*95/100] >= 100 {
				t.Errorf("want named first in 95, a median of %d jobs, and less than 100 that are concerned", x.most)
			}
		})
	}
}

// histories returns the number of histories of a test: a tenth in a short run.
func histories(t *testing.T, n uint64) uint64 {
	t.Helper()
	if testing.Short() {
		return n / 10
	}
	return n
}

// TestOutageOver: an alarm is raised once and ends when attempts succeed again, or when there was
// none for ten minutes.
func TestOutageOver(t *testing.T) {
	p := newPlant(t, 1)
	p.run(2000, true)
	broken := func(s *Spec, _ string) float64 {
		if slices.Contains(s.Require, "r3") {
			return 1
		}
		return 0.01
	}
	usual := p.fails
	p.fails = broken
	if p.run(20_000, false); len(p.alarms) != 1 || !p.alarms[0].Active || len(p.q.Signals(p.now).Alarms) != 1 {
		t.Fatalf("during an outage: %+v", p.alarms)
	}
	p.fails = usual
	if p.run(2000, false); len(p.alarms) != 2 || p.alarms[1].Active || p.alarms[1].Subject != "resource r3" ||
		p.alarms[1].SinceMs != p.alarms[0].SinceMs || !strings.HasPrefix(p.alarms[1].Text, "over: outage of resource r3") {
		t.Fatalf("after an outage: %+v", p.alarms)
	}
	p.fails = broken
	if p.run(2000, true); len(p.alarms) != 3 {
		t.Fatalf("a second outage: %+v", p.alarms)
	}
	p.q.Sample(p.now + outageQuiet - 1000)
	if news := p.q.Alarms(); news != nil {
		t.Errorf("before ten minutes without attempts: %+v", news)
	}
	p.q.Sample(p.now + outageQuiet)
	if news := p.q.Alarms(); len(news) != 1 || news[0].Active || len(p.q.Signals(p.now).Alarms) != 0 {
		t.Errorf("after ten minutes without attempts: %+v", news)
	}
}

// TestTwoOutages: during an outage, another one is detected and named.
func TestTwoOutages(t *testing.T) {
	for seed := range uint64(20) {
		p := newPlant(t, seed)
		p.run(2000, true)
		broken := []string{"r3"}
		p.fails = func(s *Spec, _ string) float64 {
			if slices.ContainsFunc(s.Require, func(r string) bool { return slices.Contains(broken, r) }) {
				return 1
			}
			return 0.01
		}
		p.run(3000, false)
		broken = append(broken, "r11")
		p.run(3000, false)
		if len(p.alarms) != 2 || p.alarms[0].Subject != "resource r3" || p.alarms[1].Subject != "resource r11" {
			t.Errorf("seed %d: %+v", seed, p.alarms)
		}
	}
}

// TestHabit: when a half of all jobs begins to fail, there is an alarm once. It is over when that
// has become usual, and is not raised again. The same holds if a half fails from the begin on.
func TestHabit(t *testing.T) {
	for seed := range max(1, histories(t, 5)) {
		p := newPlant(t, seed)
		p.run(2000, false)
		p.fails = func(*Spec, string) float64 { return 0.5 }
		if p.run(30_000, false); len(p.alarms) != 2 || !p.alarms[0].Active || p.alarms[0].Subject != "queue" || p.alarms[1].Active {
			t.Errorf("seed %d: a half begins to fail: %+v", seed, p.alarms)
		}
		p = newPlant(t, seed)
		p.fails = func(*Spec, string) float64 { return 0.5 }
		if p.run(30_000, false); len(p.alarms) > 2 || len(p.alarms) > 0 && (p.alarms[0].Subject != "queue" || len(p.q.Signals(p.now).Alarms) > 0) {
			t.Errorf("seed %d: a half fails from the begin on: %+v", seed, p.alarms)
		}
	}
}

// TestRareOutage: an agent of a thousand that breaks is named, although the attempts since it broke
// are more than are compared.
func TestRareOutage(t *testing.T) {
	for seed := range histories(t, 10) {
		p := newPlant(t, seed)
		for p.agents = 40; p.agents < 1000; p.agents++ {
			has := []string{"rack:9"}
			for r := range plantResources {
				has = append(has, fmt.Sprint("r", r))
			}
			must(t)(p.q.Declare(0, fmt.Sprint("a", p.agents), &Profile{Has: has}))
		}
		p.fails = func(_ *Spec, agent string) float64 {
			if agent == "a7" {
				return 1
			}
			return 0.02
		}
		if p.run(40_000, true); len(p.alarms) == 0 || p.alarms[0].Subject != "agent a7" {
			t.Errorf("seed %d: %+v", seed, p.alarms)
		}
	}
}

// TestFalseAlarms: a million attempts of which a usual share fails raise no alarm, nor does one bad
// job, an agent that is lost with its jobs, or leases that end.
func TestFalseAlarms(t *testing.T) {
	for _, share := range []float64{0.001, 0.015, 0.1, 0.3} {
		p := newPlant(t, 3)
		p.fails = func(*Spec, string) float64 { return share }
		if p.run(int(histories(t, 250_000)), false); len(p.alarms) > 0 {
			t.Errorf("%.3f of the attempts fail: %s", share, p.alarms[0].Text)
		}
	}
	q := newQueue(t, Config{MaxAttempts: 200, Backoff: time.Millisecond, MaxBackoff: time.Millisecond, Blacklist: -1, Lease: time.Second})
	q.Watch()
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Submit(0, 1, &Spec{}))
	now := int64(0)
	for attempt := range 150 {
		now += 10
		must2(t)(q.Tick(nil, now, 10))
		ds, _, err := q.Poll(nil, now, &Poll{Agent: "a", N: 1, Policy: Greedy})
		if err != nil || len(ds) != 1 {
			t.Fatal(attempt, ds, err)
		}
		must(t)(q.Fail(now, "a", 1, ds[0].Attempt))
	}
	if news := q.Alarms(); news != nil {
		t.Errorf("one bad job: %s", news[0].Text)
	}
	for id := ID(2); id < 102; id++ {
		must(t)(q.Submit(now, id, &Spec{}))
	}
	start := func() {
		if ds, _, err := q.Poll(nil, now, &Poll{Agent: "a", N: 50, Policy: Greedy}); err != nil || len(ds) != 50 {
			t.Fatal(len(ds), err)
		}
	}
	start()
	now += 2000
	must2(t)(q.Tick(nil, now, 1000))
	now += 10
	must2(t)(q.Tick(nil, now, 1000))
	start()
	must2(t)(q.Down(nil, now, "a"))
	if news := q.Alarms(); news != nil {
		t.Errorf("leases that end, and an agent that is gone: %s", news[0].Text)
	}
}

// TestWaitingAlarms: jobs that no agent can run raise an alarm, and so do jobs that wait longer
// than the target. Both end when the jobs run.
func TestWaitingAlarms(t *testing.T) {
	q := newQueue(t, Config{WaitTarget: 20 * time.Second, Lease: time.Hour})
	q.Watch()
	must(t)(q.Submit(0, 1, &Spec{Require: []string{"gpu"}}))
	now, got := int64(0), []Alarm(nil)
	seconds := func(n int) {
		for range n {
			now += 1000
			q.Sample(now)
			got = append(got, q.Alarms()...)
		}
	}
	seconds(10)
	if len(got) != 0 {
		t.Errorf("after 9 s without an agent: %+v", got)
	}
	seconds(1)
	if len(got) != 1 || got[0].Kind != UnservedAlarm || !got[0].Active || !slices.Equal(got[0].Require, []string{"gpu"}) ||
		!strings.Contains(got[0].Text, "1 jobs that require gpu wait") {
		t.Errorf("after 10 s without an agent: %+v", got)
	}
	must(t)(q.Declare(now, "a", &Profile{Has: []string{"gpu"}, Slots: 1}))
	poll := func() {
		if ds, _, err := q.Poll(nil, now, &Poll{Agent: "a", N: 1, Policy: Greedy}); err != nil || len(ds) != 1 {
			t.Fatal(ds, err)
		}
	}
	poll()
	must(t)(q.Submit(now, 2, &Spec{Require: []string{"gpu"}}))
	seconds(11)
	if len(got) != 2 || got[1].Kind != UnservedAlarm || got[1].Active {
		t.Errorf("after 10 s with an agent: %+v", got[1:])
	}
	seconds(25)
	if len(got) != 3 || got[2].Kind != LateAlarm || !got[2].Active || got[2].Slots != 1 || got[2].Subject != "jobs that require gpu" {
		t.Errorf("when a job waits for longer than the target: %+v", got[2:])
	}
	must(t)(q.Complete(now, "a", 1, 1))
	poll()
	seconds(11)
	if len(got) != 4 || got[3].Active || len(q.Signals(now).Alarms) != 0 {
		t.Errorf("when the job runs: %+v", got[3:])
	}
	must2(t)(q.Pause(nil, now, false))
	must(t)(q.Submit(now, 3, &Spec{Require: []string{"tpu"}}))
	seconds(60)
	if len(got) != 4 {
		t.Errorf("in a pause: %+v", got[4:])
	}
}

// TestSignalsRates: rates and the mean duration are those of the jobs.
func TestSignalsRates(t *testing.T) {
	q := newQueue(t, Config{})
	q.Watch()
	must(t)(q.Declare(0, "a", &Profile{Has: []string{"x", "y"}, Slots: 9}))
	must(t)(q.Declare(0, "b", &Profile{Has: []string{"x"}, Slots: 2}))
	id, now := ID(1), int64(0)
	for second := range 300 {
		for range 4 { // each runs for two seconds
			must(t)(q.Submit(now, id, &Spec{Require: []string{"x"}}))
			ds, _, err := q.Poll(nil, now, &Poll{Agent: "a", N: 1, Policy: Greedy})
			if err != nil || len(ds) != 1 {
				t.Fatal(ds, err)
			}
			if id > 8 && second >= 2 {
				if old := id - 8; old%4 == 0 {
					must(t)(q.FailForGood(now, "a", old, 1))
				} else {
					must(t)(q.Complete(now, "a", old, 1))
				}
			}
			id++
		}
		now += 1000
		q.Sample(now)
	}
	s := q.Signals(now)
	if len(s.Classes) != 1 {
		t.Fatalf("classes: %+v", s.Classes)
	}
	c := s.Classes[0]
	near := func(x, want float64) bool { return math.Abs(x-want) < 0.05*want }
	if !near(c.Arrivals, 4) || !near(c.Starts, 4) || !near(c.Done, 3) || !near(c.Failed, 1) || !near(c.MeanMs, 2000) || c.Running != 8 ||
		c.Pending != 0 || c.Agents != 2 || c.Slots != 11 || c.Want < 9 || c.Want > 10 {
		t.Errorf("signals: %+v", c)
	}
}

// TestBurst: jobs that arrive at once are a backlog, and not a rate. After a restart the mean
// duration is that of before.
func TestBurst(t *testing.T) {
	q := newQueue(t, Config{})
	q.Watch()
	must(t)(q.Declare(0, "a", &Profile{Slots: 1}))
	must(t)(q.Submit(0, 1, &Spec{}))
	must2(t)(must3(q.Poll(nil, 0, &Poll{Agent: "a", N: 1, Policy: Greedy})))
	must(t)(q.Complete(10_000, "a", 1, 1))
	q.Sample(10_000)
	for id := ID(2); id < 10_002; id++ {
		must(t)(q.Submit(10_000, id, &Spec{}))
	}
	for _, now := range []int64{11_000, 20_000, 60_000} {
		q.Sample(now)
		if c := q.Signals(now).Classes[0]; c.Want < 160 || c.Want > 180 {
			t.Errorf("after %d ms of 10,000 jobs of 10 s, of which 167 slots would do all in ten minutes: %+v", now-10_000, c)
		}
	}
	other, err := Restore(Config{}, q.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	other.Watch()
	if c := other.Signals(60_000).Classes[0]; c.MeanMs != 10_000 || c.Want < 160 || c.Want > 180 {
		t.Errorf("after a restart: %+v", c)
	}
}

// must3 drops the time of the next poll.
func must3(ds []Decision, _ int64, err error) ([]Decision, error) { return ds, err }

// TestSlots: the advice is at most a fifth above the least number of slots with which, in a
// simulation, 95 % of the jobs wait for no longer than the target, and not below it by more than
// one slot.
func TestSlots(t *testing.T) {
	for _, x := range []struct{ arrivals, mean, target float64 }{
		{0.5, 10, 5}, {2, 10, 30}, {10, 3, 1}, {50, 2, 0.5}, {5, 60, 60}, {200, 0.5, 0.1}, {0.05, 100, 60},
	} {
		got := Load{Arrivals: x.arrivals, Mean: x.mean, Target: x.target, Drain: 600}.Slots()
		least := int(x.arrivals * x.mean)
		for ; lateWith(least, x.arrivals, x.mean, x.target) > lateShare; least++ {
		}
		t.Logf("%v jobs/s of %v s, target %v s: advice %d slots, the least that keeps it are %d", x.arrivals, x.mean, x.target, got, least)
		if float64(got) > math.Ceil(1.2*float64(least)) || got < least-1 {
			t.Errorf("%+v: advice %d slots, the least that keeps it are %d", x, got, least)
		}
	}
	if got := (Load{Arrivals: 1, Mean: 10, Target: 60, Backlog: 660, Drain: 600}).Slots(); got != 11+10 {
		t.Errorf("with a backlog of 660 jobs of 10 s, of which 60 are begun within the target: %d slots", got)
	}
	if got := (Load{Arrivals: 1000, Mean: 20, Target: 60, Drain: 600}).Slots(); got < 20_000 || got > 20_400 {
		t.Errorf("with a great load: %d slots", got)
	}
	if got := (Load{Arrivals: 1e9, Mean: 1e3, Target: 60, Drain: 600}).Slots(); got != math.MaxInt32 {
		t.Errorf("with a very great load: %d slots", got)
	}
	if got := (Load{Target: 60, Mean: 10, Drain: 600}).Slots(); got != 0 {
		t.Errorf("without jobs: %d slots", got)
	}
	if got := (Load{Arrivals: 5, Target: 60, Backlog: 100, Drain: 600}).Slots(); got != 1 {
		t.Errorf("while the duration is not known: %d slots", got)
	}
}

// lateWith simulates a queue with exponential times, and returns the share of jobs that wait for
// longer than the target.
func lateWith(slots int, arrivals, mean, target float64) float64 {
	rng := rand.New(rand.NewPCG(5, 5))
	if slots == 0 {
		return 1
	}
	free := make([]float64, slots) // when each slot is free
	now, late := 0.0, 0
	const jobs = 50_000
	for range jobs {
		now += rng.ExpFloat64() / arrivals
		first := 0
		for i := range free {
			if free[i] < free[first] {
				first = i
			}
		}
		start := max(now, free[first])
		if free[first] = start + rng.ExpFloat64()*mean; start-now > target {
			late++
		}
	}
	return float64(late) / jobs
}

// recount returns the first difference between what a monitor has counted and the queue.
func (q *Queue) recount() error {
	pending, running := map[string]int{}, map[string]int{}
	name := func(sig uint32) string { return strings.Join(q.sigs.namesOf(q.sigs.rows[sig].require), " ") }
	q.matrix.each(None, 0, func(id ID) bool {
		sig, _ := q.class(id)
		switch q.matrix.state(id) {
		case Pending:
			pending[name(sig)]++
		case Running:
			running[name(sig)]++
		default:
		}
		return true
	})
	for _, c := range q.Signals(q.now).Classes {
		text := strings.Join(c.Require, " ")
		if p, r := pending[text], running[text]; c.Pending != p || c.Running != r {
			return fmt.Errorf("class %q: the monitor has %d pending and %d running jobs, the queue %d and %d", text, c.Pending, c.Running, p, r)
		}
		delete(pending, text)
		delete(running, text)
	}
	if len(pending)+len(running) > 0 {
		return fmt.Errorf("classes that the monitor does not have: %v, %v", pending, running)
	}
	return nil
}

// must2 fails the test after an error of a request with several decisions.
func must2(t *testing.T) func([]Decision, error) {
	return func(_ []Decision, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}
