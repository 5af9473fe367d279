package queues

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
)

// history is a random history of a shard: submissions, agents, transactions that are aborted,
// crashes, and agents that lose answers.
type history struct {
	*run
	rng    *rand.Rand
	agents map[string]*testAgent
	given  map[string]string // by job and attempt: the agent that has got it
	jobs   int
	ending bool
	bug    func(s *Shard, commit bool) // is called after each step, and with commit before each commit
	seen   map[string]int
	states []jobqueue.State // of the jobs, as of the last commit
	events followed         // of the transactions that have committed
}

// testAgent is an agent with its jobs.
type testAgent struct {
	name   string
	has    []string
	answer <-chan Answer // nil: no poll
	jobs   []Job
}

// names are those of the agents.
func names() []string { return []string{"a", "b", "c", "d"} }

func (h *history) pick(names ...string) string { return names[h.rng.IntN(len(names))] }

// some returns some of the names.
func (h *history) some(names ...string) (list []string) {
	for _, n := range names {
		if h.rng.IntN(3) == 0 {
			list = append(list, n)
		}
	}
	return list
}

// step makes one random step. Its errors are violations.
func (h *history) step() error {
	op, err := h.one()
	h.seen[op]++
	if err == nil {
		err = h.receive()
	}
	if h.bug != nil {
		h.ask(func(s *Shard) error { h.bug(s, false); return nil })
	}
	if err == nil {
		err = h.compareStates()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

func (h *history) one() (op string, err error) {
	a := h.agents[h.pick(names()...)]
	switch h.rng.IntN(16) {
	case 0, 1, 2:
		h.submitSome()
		return "submit", nil
	case 3, 4, 5:
		return "poll", h.pollAs(a)
	case 6, 7, 8:
		return "end", h.endJob(a)
	case 9:
		return "heartbeat", h.heartbeat(a)
	case 10:
		<-time.After(time.Duration(h.rng.IntN(8000)) * time.Millisecond)
		synctest.Wait()
		return "time", nil
	case 11, 12, 13:
		return "commit", h.commitAll()
	case 14:
		switch h.rng.IntN(6) {
		case 0:
			h.Crash()
			return "crash", nil
		case 1:
			h.Abort(time.Now().UnixMilli())
			return "abort", nil
		case 2: // the agent loses what it knows
			a.jobs, a.answer = nil, nil
			return "loss", nil
		}
		return "redo", h.allowed(h.refused(func(s *Shard) error { return s.Redo("q", jobqueue.ID(h.rng.IntN(h.jobs+1))) }))
	}
	switch h.rng.IntN(5) {
	case 0:
		return "pause", h.refused(func(s *Shard) error { return s.Pause("q", h.rng.IntN(2) == 0) })
	case 1, 2:
		return "resume", h.refused(func(s *Shard) error { return s.Resume("q") })
	}
	return "cancel", h.allowed(h.refused(func(s *Shard) error { return s.Cancel("q", jobqueue.ID(h.rng.IntN(h.jobs+1))) }))
}

// allowed returns nil for an error that a request may have.
func (h *history) allowed(err error) error {
	var e *jobqueue.Error
	if errors.As(err, &e) {
		return nil
	}
	return err
}

func (h *history) submitSome() {
	for range 1 + h.rng.IntN(3) {
		s := &eventspb.JobSpec{Require: h.some("x", "y"), Prefer: h.some("p", "q"), Priority: uint32(h.rng.IntN(3))}
		if h.rng.IntN(6) == 0 {
			s.NotBeforeMs = time.Now().Add(time.Duration(h.rng.IntN(6000)) * time.Millisecond).UnixMilli()
		}
		if h.jobs > 0 && h.rng.IntN(6) == 0 {
			s.After = []uint64{uint64(h.rng.IntN(h.jobs))}
		}
		if h.rng.IntN(8) == 0 {
			s.Key, s.Group = h.pick("k", "l", "m"), h.pick("", "g")
		}
		h.submit(&eventspb.JobSubmission{Spec: s, Payload: fmt.Append(nil, "payload ", h.next)})
		h.jobs++
	}
}

func (h *history) pollAs(a *testAgent) error {
	if a.answer != nil {
		return nil
	}
	policy := jobqueue.Greedy
	if !h.ending {
		policy = []jobqueue.Policy{jobqueue.Wait, jobqueue.Greedy, jobqueue.Patient}[h.rng.IntN(3)]
		if h.rng.IntN(10) == 0 {
			a.has = h.some("x", "y", "p", "q")
		}
	}
	p, answer := NewPoll(new(Ticket), "q", jobqueue.Profile{Has: a.has}, jobqueue.Poll{Agent: a.name, N: 1 + h.rng.IntN(3), Policy: policy, Delay: 2000})
	a.answer = answer
	return h.refused(func(s *Shard) error { return s.Poll(p) })
}

// receive takes the answers that agents have got: each attempt is of one agent.
func (h *history) receive() error {
	for _, a := range h.agents {
		if a.answer == nil {
			continue
		}
		select {
		case x, open := <-a.answer:
			a.answer = nil
			if !open {
				continue
			}
			if x.Err != nil || len(x.Jobs) == 0 {
				return fmt.Errorf("the answer is %+v", x)
			}
			for _, j := range x.Jobs {
				key := fmt.Sprint(j.ID, " ", j.Attempt)
				if other, ok := h.given[key]; ok {
					return fmt.Errorf("agents %s and %s have attempt %d of job %d", other, a.name, j.Attempt, j.ID)
				}
				if want := fmt.Sprint("payload ", j.ID); string(j.Payload) != want {
					return fmt.Errorf("the payload of job %d is %q", j.ID, j.Payload)
				}
				h.given[key] = a.name
			}
			a.jobs = append(a.jobs, x.Jobs...)
		default:
		}
	}
	return nil
}

// endJob reports about a job of an agent. A completion counts when its transaction has committed.
func (h *history) endJob(a *testAgent) error {
	if len(a.jobs) == 0 {
		return nil
	}
	at := h.rng.IntN(len(a.jobs))
	x := &Attempt{"q", a.name, a.jobs[at].ID, a.jobs[at].Attempt}
	switch h.rng.IntN(8) {
	case 0:
		a.jobs = append(a.jobs[:at], a.jobs[at+1:]...)
		return h.allowed(h.refused(func(s *Shard) error { return s.Fail(x, "failed", h.rng.IntN(4) == 0) }))
	case 1:
		a.jobs = append(a.jobs[:at], a.jobs[at+1:]...)
		return h.allowed(h.refused(func(s *Shard) error { return s.Return(x) }))
	}
	err := h.refused(func(s *Shard) error { return s.Complete(x, []byte("ok")) })
	if err != nil {
		a.jobs = append(a.jobs[:at], a.jobs[at+1:]...)
	} // otherwise it is repeated, as after a lost answer
	return h.allowed(err)
}

func (h *history) heartbeat(a *testAgent) error {
	var held []jobqueue.Held
	for _, j := range a.jobs {
		held = append(held, jobqueue.Held{ID: j.ID, Attempt: j.Attempt})
	}
	return h.refused(func(s *Shard) error { _, err := s.Heartbeat("q", a.name, held, nil); return err })
}

// commitAll commits, and compares the rows with the state.
func (h *history) commitAll() error {
	if h.bug != nil {
		h.ask(func(s *Shard) error { h.bug(s, true); return nil })
	}
	h.commit()
	h.states = nil
	h.ask(func(s *Shard) error {
		for id := range jobqueue.ID(h.jobs) {
			h.states = append(h.states, s.queues["q"].core.State(id))
		}
		return nil
	})
	list, _ := taken[eventspb.JobEvent](h.run, eventsOutput)
	if err := h.events.take(list); err != nil {
		return err
	}
	if err := h.events.compare(h.states); err != nil {
		return err
	}
	return h.compare()
}

// compareStates returns an error if readers see other states than those of the last commit.
func (h *history) compareStates() error {
	var shown *jobqueue.States
	err := h.refused(func(s *Shard) (err error) { shown, err = s.Shown().States("q"); return err })
	if err != nil {
		return err
	}
	for id := range jobqueue.ID(h.jobs) {
		want := jobqueue.None
		if int(id) < len(h.states) {
			want = h.states[id]
		}
		if got := shown.State(id); got != want {
			return fmt.Errorf("readers see that job %d is %s, and it has committed as %s", id, got, want)
		}
	}
	return nil
}

// compare returns an error if a new owner would have another state.
func (h *history) compare() error {
	return h.refused(func(s *Shard) error {
		next := &Shard{Task: stream.Task{Get: h.Get, Range: h.Range}, tables: newTables(), queues: map[string]*queue{}}
		if err := next.load(); err != nil {
			return err
		}
		if want, got := s.queues["q"].core.Snapshot(), next.queues["q"].core.Snapshot(); !reflect.DeepEqual(want, got) {
			return fmt.Errorf("a new owner has another state:\n%+v\n%+v", got, want)
		}
		return nil
	})
}

// finish lets agents run all jobs that are left.
func (h *history) finish() error {
	h.FoldAll()
	h.ask(func(s *Shard) error { return s.Resume("q") })
	h.ending = true
	for _, a := range h.agents {
		a.has, a.answer = []string{"x", "y"}, nil // another poll replaces one that waits
	}
	for n := 0; ; n++ {
		for _, name := range names() {
			if err := h.pollAs(h.agents[name]); err != nil {
				return err
			}
		}
		h.sleep(5 * time.Second)
		if err := h.receive(); err != nil {
			return err
		}
		for _, a := range h.agents {
			for len(a.jobs) > 0 {
				x := &Attempt{"q", a.name, a.jobs[0].ID, a.jobs[0].Attempt}
				a.jobs = a.jobs[1:]
				if err := h.allowed(h.refused(func(s *Shard) error { return s.Complete(x, nil) })); err != nil {
					return err
				}
			}
		}
		if err := h.commitAll(); err != nil {
			return err
		}
		waiting := uint64(0)
		h.ask(func(s *Shard) error {
			c := s.queues["q"].core.Counts()
			waiting = c[jobqueue.Pending] + c[jobqueue.Running] + c[jobqueue.Delayed]
			return nil
		})
		if waiting == 0 {
			return nil
		}
		if n == 200 {
			return fmt.Errorf("%d jobs wait", waiting)
		}
	}
}

// execute executes a history by seed.
func execute(t *testing.T, seed uint64, bug func(s *Shard, commit bool), seen map[string]int) (err error) {
	settings := &eventspb.JobQueueSettings{
		Version: 1, LeaseMs: 9000, BackoffMs: 1000, MaxBackoffMs: 4000, MaxAttempts: 3, AvoidMs: 5000, MaxPendingMs: 30_000, Associations: 2,
		Events: true,
	}
	inBubble(t, settings, func(r *run) {
		h := &history{
			run: r, rng: rand.New(rand.NewPCG(seed, 1)), agents: map[string]*testAgent{}, given: map[string]string{},
			bug: bug, seen: seen, events: followed{map[string]*followedJob{}},
		}
		for _, name := range names() {
			h.agents[name] = &testAgent{name: name, has: h.some("x", "y", "p", "q")}
		}
		for range 300 {
			if err = h.step(); err != nil {
				return
			}
		}
		if err = h.commitAll(); err == nil {
			err = h.finish()
		}
	})
	return err
}

// TestHistories: in random histories with aborted transactions and crashes, each attempt is given
// to one agent, its payload is that of the submission, a new owner has the state of the one before,
// readers see the states of the last commit, the events of a job lead to its state, and every job
// ends: JOB-8, JOB-9, JOB-12, JOB-13.
func TestHistories(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(40) {
		if err := execute(t, seed, nil, seen); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, op := range []string{"submit", "poll", "end", "heartbeat", "time", "commit", "crash", "abort", "loss", "redo", "pause", "cancel"} {
		if seen[op] < 20 {
			t.Errorf("%d times %s", seen[op], op)
		}
	}
}

// TestHistoriesCatch: the histories find each of these bugs.
func TestHistoriesCatch(t *testing.T) {
	before := func(bug func(s *Shard)) func(s *Shard, commit bool) {
		return func(s *Shard, commit bool) {
			if commit {
				bug(s)
			}
		}
	}
	for name, bug := range map[string]func(s *Shard, commit bool){
		"agents get jobs before the commit": before(func(s *Shard) { s.Committed(0) }),
		"a specification is not written": before(func(s *Shard) {
			q := s.queues["q"]
			q.submitted = q.submitted[:max(0, len(q.submitted)-1)]
		}),
		"decisions have no events": before(func(s *Shard) { s.queues["q"].core.Decisions() }),
		"some decisions have no event": func(s *Shard, commit bool) {
			if !commit && s.queues["q"].core.Counts()[jobqueue.Done]%8 == 7 {
				s.queues["q"].core.Decisions()
			}
		},
		"a change is not written":                  before(func(s *Shard) { s.queues["q"].core.Delta() }),
		"readers do not see a commit":              before(func(s *Shard) { s.queues["q"].shown.states = &jobqueue.States{} }),
		"readers see states before they committed": func(s *Shard, _ bool) { s.queues["q"].shown.states = s.queues["q"].core.States() },
	} {
		found := false
		for seed := uint64(0); seed < 20 && !found; seed++ {
			found = execute(t, seed, bug, map[string]int{}) != nil
		}
		if !found {
			t.Errorf("no history of 20 shows that %s", name)
		}
	}
}
