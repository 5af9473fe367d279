package jobqueue

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// poll returns the ids that an agent gets.
func poll(t testing.TB, q *Queue, now int64, p Poll) (ids []ID, retry int64) {
	t.Helper()
	if p.N == 0 {
		p.N = 1
	}
	ds, retry, err := q.Poll(nil, now, &p)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range ds {
		ids = append(ids, d.ID)
	}
	return ids, retry
}

func tick(t testing.TB, q *Queue, now int64) []Decision {
	t.Helper()
	ds, err := q.Tick(nil, now, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return ds
}

// TestSeed is the example of the seed: agent 1 has the cherry, agent 2 the apple.
func TestSeed(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Submit(0, 6, &Spec{Prefer: []string{"apple"}}))
	must(t)(q.Submit(0, 7, &Spec{Prefer: []string{"cherry"}}))
	must(t)(q.Submit(0, 8, &Spec{Prefer: []string{"apple"}}))
	must(t)(q.Submit(0, 56, &Spec{Prefer: []string{"apple", "cherry"}}))
	must(t)(q.Declare(0, "1", &Profile{Has: []string{"cherry"}}))
	must(t)(q.Declare(0, "2", &Profile{Has: []string{"apple"}}))
	for _, want := range []struct {
		agent  string
		policy Policy
		ids    []ID
	}{
		{"1", Wait, []ID{7}},
		{"2", Wait, []ID{6}},
		{"1", Wait, []ID{56}}, // cherry AND Pending
		{"1", Wait, nil},      // empty: it waits for an optimal job,
		{"1", Greedy, []ID{8}},
	} {
		if got, _ := poll(t, q, 0, Poll{Agent: want.agent, Policy: want.policy}); !slices.Equal(got, want.ids) {
			t.Fatalf("agent %s got %v, want %v", want.agent, got, want.ids)
		}
	}
	// Agent 1 was associated with the apple.
	must(t)(q.Submit(0, 57, &Spec{Prefer: []string{"apple"}}))
	if got, _ := poll(t, q, 0, Poll{Agent: "1", Policy: Wait}); !slices.Equal(got, []ID{57}) {
		t.Fatalf("the agent with the new association got %v", got)
	}
}

// TestPatient: a job whose resource another agent has waits for the delay.
func TestPatient(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Declare(0, "warm", &Profile{Has: []string{"x"}}))
	must(t)(q.Declare(0, "cold", &Profile{}))
	must(t)(q.Submit(1000, 1, &Spec{Prefer: []string{"x"}}))
	p := Poll{Agent: "cold", Policy: Patient, Delay: 500}
	if got, retry := poll(t, q, 1499, p); got != nil || retry != 1500 {
		t.Fatalf("got %v, again at %d", got, retry)
	}
	if got, _ := poll(t, q, 1500, p); !slices.Equal(got, []ID{1}) {
		t.Fatalf("after the delay got %v", got)
	}
	must(t)(q.Submit(1600, 2, &Spec{Prefer: []string{"y"}})) // which no agent has
	if got, _ := poll(t, q, 1600, p); !slices.Equal(got, []ID{2}) {
		t.Fatalf("got %v of a resource that no agent has", got)
	}
}

// TestStarvation: an adversary submits a better job before each poll. The old job is picked as soon
// as it is pending longer than MaxPendingWait, and not before.
func TestStarvation(t *testing.T) {
	for _, policy := range []Policy{Greedy, Patient} {
		q := newQueue(t, Config{MaxPendingWait: 5 * time.Second})
		must(t)(q.Declare(0, "a", &Profile{Has: []string{"x", "z"}}))
		must(t)(q.Declare(0, "b", &Profile{Has: []string{"y"}}))
		must(t)(q.Submit(0, 1, &Spec{Prefer: []string{"y"}}))
		must(t)(q.Submit(0, 2, &Spec{Require: []string{"gpu"}})) // older than the limit too, but it does not fit
		for now, id := int64(0), ID(3); ; now, id = now+100, id+1 {
			must(t)(q.Submit(now, id, &Spec{Prefer: []string{"x"}, Priority: 15}))
			got, _ := poll(t, q, now, Poll{Agent: "a", Policy: policy, Delay: 1_000_000})
			if slices.Equal(got, []ID{1}) {
				if now != 5100 {
					t.Errorf("policy %d: picked at %d, want 5100", policy, now)
				}
				break
			}
			if now > 5100 || !slices.Equal(got, []ID{id}) {
				t.Fatalf("policy %d: at %d got %v", policy, now, got)
			}
			must(t)(q.Complete(now, "a", id, 1))
		}
	}
}

// TestOldSegment: after 50 days and more in one segment, priorities count, a job is starving after
// MaxPendingWait and not before, and a restored queue decides the same.
func TestOldSegment(t *testing.T) {
	const day = 24 * 3600 * 1000
	q := newQueue(t, Config{MaxPendingWait: 1000 * time.Hour})
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Submit(0, 0, &Spec{Require: []string{"gpu"}}))
	for id, now := ID(1), int64(day); now < 500*day; id, now = id+4, now+42*day {
		must(t)(q.Submit(now, id, &Spec{}))
		must(t)(q.Submit(now, id+1, &Spec{Priority: 15}))
		restored, err := Restore(Config{MaxPendingWait: 1000 * time.Hour}, q.Snapshot())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []*Queue{q, restored} {
			if got, _ := poll(t, q, now, Poll{Agent: "a"}); !slices.Equal(got, []ID{id + 1}) {
				t.Fatalf("day %d: got %v, want job %d, which is urgent", now/day, got, id+1)
			}
			must(t)(q.Submit(now+1000*3600*1000, id+2, &Spec{Priority: 15}))
			if got, _ := poll(t, q, now+1000*3600*1000, Poll{Agent: "a"}); !slices.Equal(got, []ID{id + 2}) {
				t.Fatalf("day %d: got %v after 1000 h, want job %d", now/day, got, id+2)
			}
			must(t)(q.Submit(now+1000*3600*1000+1, id+3, &Spec{Priority: 15}))
			if got, _ := poll(t, q, now+1000*3600*1000+1, Poll{Agent: "a", N: 2}); !slices.Equal(got, []ID{id, id + 3}) {
				t.Fatalf("day %d: got %v, want job %d, which is starving, and job %d", now/day, got, id, id+3)
			}
		}
	}
}

// TestRetries: a failed job returns after a backoff, at its old place, until no try is left.
func TestRetries(t *testing.T) {
	q := newQueue(t, Config{MaxAttempts: 3, Backoff: time.Second, MaxBackoff: 1500 * time.Millisecond, Blacklist: -1})
	must(t)(q.Declare(0, "a", &Profile{Slots: 1}))
	for id := range ID(3) {
		must(t)(q.Submit(0, id, &Spec{}))
	}
	now := int64(0)
	for try := range 3 {
		if got, _ := poll(t, q, now, Poll{Agent: "a"}); !slices.Equal(got, []ID{0}) {
			t.Fatalf("try %d: got %v, want the retry before younger jobs", try+1, got)
		}
		d := must(t)(q.Fail(now, "a", 0, uint8(try+1)))
		if try == 2 {
			if d.Kind != Exhausted || q.State(0) != Failed {
				t.Fatalf("the last try: %+v", d)
			}
			break
		}
		longest := []int64{1000, 1500}[try]
		if wait := d.Until - now; d.Kind != Retried || wait < longest/2 || wait > longest {
			t.Fatalf("try %d: %+v", try+1, d)
		}
		if next, ok := q.Next(); !ok || next > d.Until {
			t.Fatalf("the next timer is at %d, want %d", next, d.Until)
		}
		if ds := tick(t, q, d.Until-1); len(ds) > 0 {
			t.Fatalf("early: %+v", ds)
		}
		if now = d.Until; len(tick(t, q, now)) != 1 {
			t.Fatal("not due")
		}
	}
	must(t)(q.Redo(now, 0)) // three more tries
	if d := start(t, q, "a", 0); d.Attempt != 4 {
		t.Fatalf("attempt %d after redo", d.Attempt)
	}
	if d := must(t)(q.Fail(now, "a", 0, 4)); d.Kind != Retried {
		t.Fatalf("the first try after redo: %+v", d)
	}
}

// TestJitter: backoffs of jobs that fail together differ, and are the same in each process.
func TestJitter(t *testing.T) {
	cfg, _ := Config{}.withDefaults()
	seen := map[int64]bool{}
	for id := range ID(1000) {
		seen[cfg.backoff(id, 3, 3)] = true
		if b := cfg.backoff(id, 200, 200); b < 150_000 || b > 300_000 {
			t.Fatalf("a late backoff is %d ms", b)
		}
	}
	for _, tc := range []Config{{Backoff: 1000 * time.Hour}, {MaxBackoff: 1000 * time.Hour}, {Backoff: 900 * time.Hour, MaxBackoff: 1000 * time.Hour}} {
		cfg, err := tc.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		for try := range 200 {
			most := min(cfg.MaxBackoff.Milliseconds(), cfg.Backoff.Milliseconds()<<min(try, 22))
			if b := cfg.backoff(1, uint8(try+1), try+1); b < most/2 || b > most {
				t.Errorf("backoff %v to %v: try %d waits %d ms, want half of %d ms at least", cfg.Backoff, cfg.MaxBackoff, try+1, b, most)
			}
		}
	}
	if len(seen) < 700 || cfg.backoff(7, 1, 1) != 632 {
		t.Errorf("%d different backoffs; the one of job 7 is %d", len(seen), cfg.backoff(7, 1, 1))
	}
}

// TestLease: a lease that is not renewed ends, also after renewals; the agent avoids the job.
func TestLease(t *testing.T) {
	q := newQueue(t, Config{Lease: 10 * time.Second, Blacklist: time.Hour})
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Declare(0, "b", &Profile{}))
	must(t)(q.Submit(0, 1, &Spec{}))
	start(t, q, "a", 1)
	for now := int64(5000); now <= 20_000; now += 5000 {
		if ds := tick(t, q, now); len(ds) > 0 {
			t.Fatalf("at %d: %+v", now, ds)
		}
		if ds, stop := q.Heartbeat(nil, now, "a", []Held{{1, 1}}); len(ds) != 1 || stop != nil {
			t.Fatalf("renewed %+v, stop %v", ds, stop)
		}
	}
	if ds := tick(t, q, 29_999); len(ds) > 0 {
		t.Fatalf("early: %+v", ds)
	}
	if ds := tick(t, q, 30_000); len(ds) != 1 || ds[0].Kind != Retried || ds[0].Reason != Expired {
		t.Fatalf("at the end: %+v", ds)
	}
	if _, err := q.Complete(30_000, "a", 1, 1); !errors.Is(err, ErrStale) {
		t.Fatalf("a late result: %v", err)
	}
	tick(t, q, 40_000)
	if got, retry := poll(t, q, 40_000, Poll{Agent: "a", Policy: Greedy}); got != nil || retry != 30_000+3_600_000 {
		t.Fatalf("the agent got %v again; retry at %d", got, retry)
	}
	if got, _ := poll(t, q, 40_000, Poll{Agent: "b", Policy: Greedy}); !slices.Equal(got, []ID{1}) {
		t.Fatalf("another agent got %v", got)
	}
}

// TestAvoidedHead: an agent that avoids the first jobs of a signature gets the next one.
func TestAvoidedHead(t *testing.T) {
	q := newQueue(t, Config{Backoff: time.Millisecond})
	must(t)(q.Declare(0, "a", &Profile{}))
	for id := range ID(5) {
		must(t)(q.Submit(0, id, &Spec{}))
	}
	for _, id := range []ID{0, 1, 2} {
		start(t, q, "a", id)
		must(t)(q.Return(0, "a", id, 1))
	}
	if got, _ := poll(t, q, 0, Poll{Agent: "a", N: 5}); !slices.Equal(got, []ID{3, 4}) {
		t.Fatalf("got %v", got)
	}
	if got, _ := poll(t, q, 60_000, Poll{Agent: "a", N: 5}); !slices.Equal(got, []ID{0, 1, 2}) {
		t.Fatalf("after the blacklist got %v", got)
	}
}

// TestPause: a pause stops starts. With pullback it takes jobs, whose attempts are not charged.
func TestPause(t *testing.T) {
	q := newQueue(t, Config{MaxAttempts: 1})
	must(t)(q.Declare(0, "a", &Profile{}))
	for id := range ID(3) {
		must(t)(q.Submit(0, id, &Spec{}))
	}
	start(t, q, "a", 0)
	start(t, q, "a", 1)
	ds, err := q.Pause(nil, 0, false)
	if err != nil || len(ds) != 1 || q.State(0) != Running {
		t.Fatalf("pause: %+v, %v", ds, err)
	}
	if got, _ := poll(t, q, 0, Poll{Agent: "a"}); got != nil {
		t.Fatalf("got %v in a pause", got)
	}
	must(t)(q.Complete(0, "a", 0, 1))
	if ds, err = q.Pause(nil, 0, true); err != nil || len(ds) != 1 || ds[0].ID != 1 || ds[0].Reason != Pullback || q.State(1) != Pending {
		t.Fatalf("pullback: %+v, %v", ds, err)
	}
	if _, err := q.Complete(0, "a", 1, 1); !errors.Is(err, ErrStale) {
		t.Fatalf("a result after the pullback: %v", err)
	}
	must(t)(q.Resume(0))
	if d := start(t, q, "a", 1); d.Attempt != 2 {
		t.Fatalf("after the pullback: %+v", d)
	}
	if d := must(t)(q.Fail(0, "a", 1, 2)); d.Kind != Exhausted {
		t.Fatalf("the only charged try: %+v", d)
	}
}

// TestSubmitOnce: jobs with one key are one job, and a key with another specification is refused.
func TestSubmitOnce(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Submit(0, 1, &Spec{Key: "k", Require: []string{"x", "y"}, Prefer: []string{"z"}, Group: "g"}))
	d, err := q.Submit(0, 2, &Spec{Key: "k", Require: []string{"y", "x", "x"}, Prefer: []string{"z"}, Group: "g", NotBefore: 9})
	if err != nil || d.Kind != Nothing || d.ID != 1 || q.State(2) != None {
		t.Fatalf("a repeated submission: %+v, %v", d, err)
	}
	for _, s := range []Spec{{}, {Require: []string{"x", "y", "z"}, Group: "g"}, {Require: []string{"x", "y"}, Prefer: []string{"z"}}} {
		s.Key = "k"
		if _, err = q.Submit(0, 3, &s); !errors.Is(err, ErrKeyReused) || q.State(3) != None {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestOrderFastest: among equal signatures the one with the shortest runs comes first.
func TestOrderFastest(t *testing.T) {
	q := newQueue(t, Config{Order: Fastest})
	must(t)(q.Declare(0, "a", &Profile{Has: []string{"slow", "fast"}}))
	for id, r := range []string{"slow", "fast", "slow", "fast"} {
		must(t)(q.Submit(0, ID(id), &Spec{Require: []string{r}}))
	}
	start(t, q, "a", 0)
	start(t, q, "a", 1)
	must(t)(q.Complete(10, "a", 1, 1))
	must(t)(q.Complete(9000, "a", 0, 1))
	start(t, q, "a", 3)
}

// TestRoom: a name that a job has twice, or requires and prefers, counts once.
func TestRoom(t *testing.T) {
	q := newQueue(t, Config{MaxResources: 2})
	must(t)(q.Submit(0, 1, &Spec{Require: []string{"x", "x", "y"}, Prefer: []string{"y", "x"}}))
	if _, err := q.Submit(0, 2, &Spec{Require: []string{"z", "z"}}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a third name: %v", err)
	}
}

// TestDownAmongMany: an agent that goes down loses its jobs, in ascending order. Those of other
// agents are not copied.
func TestDownAmongMany(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Declare(0, "b", &Profile{}))
	for id := range ID(20_000) {
		must(t)(q.Submit(0, id, &Spec{}))
	}
	poll(t, q, 0, Poll{Agent: "b", N: 2})
	poll(t, q, 0, Poll{Agent: "a", N: 20_000})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ds, err := q.Down(nil, 0, "b")
	runtime.ReadMemStats(&after)
	if err != nil || len(ds) != 3 || ds[0].ID != 0 || ds[1].ID != 1 || ds[2].Kind != AgentDown {
		t.Errorf("down: %+v, %v", ds, err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 100_000 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestLastAttempt: the number of attempts does not wrap around.
func TestLastAttempt(t *testing.T) {
	q := newQueue(t, Config{MaxAttempts: 200, Blacklist: -1, Lease: 1000 * time.Hour})
	must(t)(q.Declare(0, "a", &Profile{}))
	must(t)(q.Submit(0, 1, &Spec{}))
	for n := range 254 {
		start(t, q, "a", 1)
		must(t)(q.Return(0, "a", 1, uint8(n+1)))
	}
	start(t, q, "a", 1)
	for _, k := range []Kind{Retried, Returned} {
		if err := q.Apply(&Decision{Kind: k, ID: 1, Attempt: 255}); !errors.Is(err, ErrAttempts) || q.State(1) != Running {
			t.Fatalf("decision of kind %d after attempt 255: %v", k, err)
		}
	}
	if d := must(t)(q.Return(0, "a", 1, 255)); d.Kind != Exhausted || q.State(1) != Failed {
		t.Fatalf("attempt 255 was returned: %+v", d)
	}
	if _, err := q.Redo(0, 1); !errors.Is(err, ErrAttempts) {
		t.Fatalf("redo: %v", err)
	}
}

// TestGroups: a group is counted and selected by the AND of vectors.
func TestGroups(t *testing.T) {
	q := newQueue(t, Config{})
	must(t)(q.Declare(0, "a", &Profile{Has: []string{"r0"}}))
	for id := range ID(100) {
		must(t)(q.Submit(0, id, &Spec{Require: []string{fmt.Sprint("r", id%2)}, Group: fmt.Sprint("g", id%5)}))
	}
	for range 10 {
		ids, _ := poll(t, q, 0, Poll{Agent: "a"})
		must(t)(q.Complete(0, "a", ids[0], 1))
	}
	if n := q.GroupCounts("g0"); n[Done] != 2 || n[Pending] != 18 {
		t.Errorf("group g0: %v", n)
	}
	if got := q.Select(&Selector{State: Pending, Group: "g0", Resource: "r0", Page: true, After: 20, Limit: 3}); !slices.Equal(got, []ID{30, 40, 50}) {
		t.Errorf("selected %v", got)
	}
	for _, id := range q.Select(&Selector{State: Pending, Group: "g1"}) {
		must(t)(q.Cancel(0, id))
	}
	if n := q.GroupCounts("g1"); n[Canceled] != 18 || n[Done] != 2 {
		t.Errorf("group g1: %v", n)
	}
	if got := q.Select(&Selector{Resource: "r9"}); got != nil || q.Select(&Selector{Group: "g9"}) != nil || len(q.Groups()) != 5 {
		t.Errorf("selected %v of an unknown resource", got)
	}
	if f := q.Flows(); f[None][Pending] != 100 || f[Pending][Canceled] != 18 {
		t.Errorf("flows %v", f)
	}
}

// TestWhy: the reasons for which a job does not run add up to the agents.
func TestWhy(t *testing.T) {
	q := newQueue(t, Config{})
	for n := range 5 {
		must(t)(q.Declare(0, fmt.Sprint("a", n), &Profile{Has: [][]string{{"gpu"}, {"gpu", "eu"}, {"eu"}, nil, nil}[n], Slots: 1}))
	}
	must(t)(q.Submit(0, 1, &Spec{Require: []string{"gpu", "eu"}}))
	must(t)(q.Submit(0, 2, &Spec{Require: []string{"gpu", "eu"}, Prefer: []string{"m"}}))
	start(t, q, "a1", 1)
	must(t)(q.Submit(0, 3, &Spec{After: []ID{2}}))
	must(t)(q.Submit(0, 4, &Spec{NotBefore: 500}))
	for id, want := range map[ID]string{
		1: "running",
		2: "pending: 0 of 5 agents fit: 3 lack eu, 3 lack gpu, 1 busy",
		3: "blocked by 1 jobs, the first is 2",
		4: "delayed until 500",
	} {
		if w, err := q.Why(0, id); err != nil || w.String() != want {
			t.Errorf("job %d: %q, %v; want %q", id, w, err, want)
		}
	}
	m, err := q.WhyNot(0, 2, "a0")
	if err != nil || !slices.Equal(m.Lacks, []string{"eu"}) || m.Busy || !m.New || m.Remote || m.Ahead != 2 {
		t.Errorf("agent a0: %+v, %v", m, err)
	}
	must(t)(q.Return(0, "a1", 1, 1))
	m, err = q.WhyNot(0, 1, "a1")
	if err != nil || m.Lacks != nil || m.Avoid != 60_000 {
		t.Errorf("agent a1: %+v, %v", m, err)
	}
	if w, _ := q.Why(0, 1); w.Avoid != 1 || w.Fit != 0 {
		t.Errorf("job 1: %+v", w)
	}
	if _, err := q.Why(0, 99); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if _, err := q.WhyNot(0, 1, "a9"); !errors.Is(err, ErrAgent) {
		t.Error(err)
	}
}
