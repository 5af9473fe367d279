package queues

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// run is a shard with one queue, "q", in a bubble.
type run struct {
	*streamtest.Runner
	t    *testing.T
	next int64 // offset of the next submission
}

// inBubble runs fn with a shard whose queue has settings.
func inBubble(t *testing.T, settings *eventspb.JobQueueSettings, fn func(r *run)) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{Runner: streamtest.New(t, streamtest.Options{Processor: Processor(events.Layout{Shards: 1}, nil)}), t: t}
		defer func() { r.Handler().(stream.Closer).Close() }()
		r.ask(func(s *Shard) error { return s.Set("q", settings) })
		r.commit()
		fn(r)
	})
}

// ask calls fn with the shard.
func (r *run) ask(fn func(s *Shard) error) {
	r.t.Helper()
	if err := streamtest.Ask(r.Runner, fn); err != nil {
		r.t.Fatal(err)
	}
}

// refused returns the error of fn.
func (r *run) refused(fn func(s *Shard) error) error { return streamtest.Ask(r.Runner, fn) }

func (r *run) commit() { r.Commit(time.Now().UnixMilli()) }

// sleep lets time pass, and then commits.
func (r *run) sleep(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
	r.commit()
}

// submit submits jobs to the queue, and returns their numbers.
func (r *run) submit(list ...*eventspb.JobSubmission) (ids []jobqueue.ID) {
	r.t.Helper()
	for _, m := range list {
		if m.GetQueue() == "" {
			m.Queue = "q"
		}
		value, err := proto.Marshal(m)
		if err != nil {
			r.t.Fatal(err)
		}
		r.Append(value)
		ids = append(ids, jobqueue.ID(r.next))
		r.next++
	}
	r.FoldAll()
	return ids
}

// skip appends records that cannot be decoded.
func (r *run) skip(n int) {
	for range n {
		r.Append([]byte{0xff})
	}
	r.next += int64(n)
	r.FoldAll()
}

// pollFor parks a poll.
func (r *run) pollFor(agent string, n int, has ...string) <-chan Answer {
	r.t.Helper()
	p, answer := NewPoll(new(Ticket), "q", jobqueue.Profile{Has: has}, jobqueue.Poll{Agent: agent, N: n, Policy: jobqueue.Greedy})
	r.ask(func(s *Shard) error { return s.Poll(p) })
	return answer
}

// answered returns the jobs of an answer. ok reports whether the poll has jobs.
func answered(answer <-chan Answer) (jobs []Job, ok bool) {
	select {
	case a, open := <-answer:
		return a.Jobs, open && a.Err == nil
	default:
		return nil, false
	}
}

// poll polls, commits, and returns the jobs.
func (r *run) poll(agent string, n int, has ...string) []Job {
	r.t.Helper()
	answer := r.pollFor(agent, n, has...)
	r.commit()
	jobs, ok := answered(answer)
	if !ok {
		r.t.Fatalf("agent %s has no answer", agent)
	}
	return jobs
}

// core returns the core of the queue.
func (r *run) core() (q *jobqueue.Queue) {
	r.ask(func(s *Shard) error { q = s.queues["q"].core; return nil })
	return q
}

// state returns the state of a job.
func (r *run) state(id jobqueue.ID) (state jobqueue.State) {
	r.ask(func(s *Shard) error { state = s.queues["q"].core.State(id); return nil })
	return state
}

func job(payload string, require ...string) *eventspb.JobSubmission {
	return &eventspb.JobSubmission{Spec: &eventspb.JobSpec{Require: require}, Payload: []byte(payload)}
}

// TestLifeCycle: an agent gets a job when its start has committed, with its payload, and completes
// it. A repeated completion succeeds, that of another attempt is refused.
func TestLifeCycle(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		answer := r.pollFor("a", 10, "gpu")
		r.commit()
		if _, ok := answered(answer); ok {
			t.Fatal("the queue has no job, and the agent has an answer")
		}
		ids := r.submit(job("one", "gpu"), job("two", "tpu"), job("", "gpu"))
		if _, ok := answered(answer); ok || !r.Woken() {
			t.Fatalf("before the commit the agent has an answer, or no commit is requested: %t", r.Woken())
		}
		r.commit()
		jobs, ok := answered(answer)
		if !ok || len(jobs) != 2 || jobs[0].ID != ids[0] || string(jobs[0].Payload) != "one" || jobs[1].ID != ids[2] || jobs[1].Payload != nil ||
			jobs[0].Attempt != 1 || !slices.Equal(jobs[0].GetSpec().GetRequire(), []string{"gpu"}) {
			t.Fatalf("the agent got %+v", jobs)
		}
		a := &Attempt{"q", "a", ids[0], 1}
		for range 2 {
			r.ask(func(s *Shard) error { return s.Complete(a, []byte("done")) })
			r.commit()
		}
		stale := *a
		stale.Attempt = 2
		var e *jobqueue.Error
		if err := r.refused(func(s *Shard) error { return s.Complete(&stale, nil) }); !errors.As(err, &e) {
			t.Errorf("another attempt: %v", err)
		}
		if got := []jobqueue.State{r.state(0), r.state(1), r.state(2)}; !slices.Equal(got, []jobqueue.State{jobqueue.Done, jobqueue.Pending, jobqueue.Running}) {
			t.Errorf("states: %v", got)
		}
		m := &eventspb.JobResult{}
		if err := proto.Unmarshal(r.row(TableResults, ids[0]), m); err != nil || string(m.GetResult()) != "done" || m.GetAgent() != "a" || m.GetAttempt() != 1 {
			t.Errorf("the result is %v, %v", m, err)
		}
	})
}

// row returns the row of a job, nil without one.
func (r *run) row(table byte, id jobqueue.ID) []byte {
	r.t.Helper()
	value, err := r.Get(table, NumberKey(nil, "q", id))
	if err != nil {
		r.t.Fatal(err)
	}
	return value
}

// TestAborted: a start that does not commit has not happened. Its agent gets no job, and polls
// again.
func TestAborted(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		r.submit(job("x"))
		r.commit()
		answer := r.pollFor("a", 1)
		r.Abort(time.Now().UnixMilli())
		if a, open := <-answer; open {
			t.Errorf("the agent got %+v", a)
		}
		if jobs := r.poll("b", 1); len(jobs) != 1 || jobs[0].Attempt != 1 {
			t.Errorf("after the aborted transaction another agent gets %+v", jobs)
		}
	})
}

// TestTimes: a lease ends, a retry and a delayed job become due, without any request: the shard
// requests the commits.
func TestTimes(t *testing.T) {
	settings := &eventspb.JobQueueSettings{Version: 1, LeaseMs: 30_000, BackoffMs: 4000, AvoidMs: -1, MaxAttempts: 2}
	inBubble(t, settings, func(r *run) {
		delayed := job("later")
		delayed.Spec.NotBeforeMs = time.Now().Add(70 * time.Second).UnixMilli()
		ids := r.submit(job("now"), delayed)
		r.commit()
		r.poll("a", 1)
		start := time.Now()
		for r.state(ids[0]) == jobqueue.Running {
			<-time.After(100 * time.Millisecond)
			if synctest.Wait(); r.Woken() {
				r.commit()
			}
			r.ask(func(s *Shard) error { s.queues["q"].see("a", time.Now().UnixMilli()); return nil })
		}
		if after := time.Since(start); after < 30*time.Second || after > 31*time.Second {
			t.Errorf("a lease of 30 s ended after %v", after)
		}
		answer := r.pollFor("b", 1)
		var got []time.Duration
		for len(got) < 2 {
			<-time.After(100 * time.Millisecond)
			if synctest.Wait(); r.Woken() {
				r.commit()
			}
			if jobs, ok := answered(answer); ok {
				got = append(got, time.Since(start))
				r.ask(func(s *Shard) error { return s.Complete(&Attempt{"q", "b", jobs[0].ID, jobs[0].Attempt}, nil) })
				answer = r.pollFor("b", 1)
			}
		}
		if got[0] < 32*time.Second || got[0] > 35*time.Second || got[1] < 70*time.Second || got[1] > 71*time.Second {
			t.Errorf("the retry and the delayed job started after %v", got)
		}
	})
}

// TestQuietAgent: an agent that does not ask for two leases is down. One whose poll is parked is
// up.
func TestQuietAgent(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1, LeaseMs: 10_000}, func(r *run) {
		r.pollFor("parked", 1, "tpu")
		p, _ := NewPoll(new(Ticket), "q", jobqueue.Profile{}, jobqueue.Poll{Agent: "quiet", N: 1})
		r.ask(func(s *Shard) error { return s.Poll(p) })
		if !p.Abandon() {
			t.Error("the poll has an answer")
		}
		for n := range 25 {
			if r.sleep(time.Second); n == 18 && len(r.Table(TableAgents)) != 2 {
				t.Errorf("before two leases %d agents are up", len(r.Table(TableAgents)))
			}
		}
		if n := len(r.Table(TableAgents)); n != 1 {
			t.Errorf("%d agents are up", n)
		}
	})
}

// TestRefusals: a refused submission has a row with the reason, and changes nothing else.
func TestRefusals(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1, MaxJobs: 3, RetentionMs: 60_000}, func(r *run) {
		keyed := func(priority uint32) *eventspb.JobSubmission {
			return &eventspb.JobSubmission{Spec: &eventspb.JobSpec{Key: "k", Priority: priority}}
		}
		after := &eventspb.JobSubmission{Spec: &eventspb.JobSpec{After: []uint64{77}}}
		large := job(string(make([]byte, MaxPayload+1)))
		ids := r.submit(keyed(1), keyed(1), keyed(2), after, large, job("", ""), &eventspb.JobSubmission{Spec: &eventspb.JobSpec{Priority: 16}}, job("b"), job("c"), job("d"))
		r.commit()
		var got []string
		for _, id := range ids {
			m := &eventspb.JobRefusal{}
			if value := r.row(TableRefusals, id); value != nil {
				if err := proto.Unmarshal(value, m); err != nil || m.GetDetail() == "" {
					t.Errorf("job %d: %v, %v", id, m, err)
				}
			}
			got = append(got, m.GetReason())
		}
		want := []string{
			"", RefusedDuplicate, RefusedKeyReused, RefusedAfter, RefusedPayload, RefusedInvalid, RefusedInvalid, "", "", RefusedFull,
		}
		if !slices.Equal(got, want) {
			t.Errorf("refusals: %q", got)
		}
		r.skip(1)
		r.submit(&eventspb.JobSubmission{Queue: "other"})
		r.commit()
		var reasons []string
		for _, x := range r.TakeRejects() {
			reasons = append(reasons, x.Reason)
		}
		if !slices.Equal(reasons, []string{ReasonUndecodable, ReasonUnknownQueue}) {
			t.Errorf("dead letters: %q", reasons)
		}
		if n := len(r.Table(TableStatus)); n != 3 {
			t.Errorf("%d jobs have a state", n)
		}
		r.sleep(time.Minute - time.Second)
		late := r.submit(job("e"))[0]
		if r.commit(); len(r.Table(TableRefusals)) != 8 {
			t.Errorf("%d refusals before the retention", len(r.Table(TableRefusals)))
		}
		r.sleep(time.Second)
		if r.commit(); len(r.Table(TableRefusals)) != 1 || r.row(TableRefusals, late) == nil {
			t.Errorf("%d refusals after the retention", len(r.Table(TableRefusals)))
		}
	})
}

// TestSettings: settings with a greater version replace those before; others change nothing, and
// invalid ones are refused.
func TestSettings(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 5, LeaseMs: 10_000}, func(r *run) {
		for _, m := range []*eventspb.JobQueueSettings{
			{Version: 6, LeaseMs: -1},
			{Version: 6, MaxAttempts: 500},
			{Version: 6, MaxJobs: -1},
			{Version: 6, RetentionMs: 1 << 62},
		} {
			if err := r.refused(func(s *Shard) error { return s.Set("q", m) }); !errors.Is(err, jobqueue.ErrInvalid) {
				t.Errorf("%v: %v", m, err)
			}
		}
		for _, name := range []string{"", "Q", "-q", "a b", string(make([]byte, 101))} {
			if err := r.refused(func(s *Shard) error { return s.Set(name, &eventspb.JobQueueSettings{}) }); !errors.Is(err, jobqueue.ErrInvalid) {
				t.Errorf("%q: %v", name, err)
			}
		}
		for version, lease := range map[uint64]int64{5: 20_000, 4: 10_000} {
			if err := r.refused(func(s *Shard) error {
				return s.Set("q", &eventspb.JobQueueSettings{Version: version, LeaseMs: lease})
			}); !errors.Is(err, ErrVersion) {
				t.Errorf("version %d with a lease of %d ms: %v", version, lease, err)
			}
		}
		r.ask(func(s *Shard) error { return s.Set("q", &eventspb.JobQueueSettings{Version: 5, LeaseMs: 10_000}) })
		r.submit(job(""))
		r.commit()
		left := func() time.Duration { return time.Until(time.UnixMilli(r.poll("a", 1)[0].UntilMs)) }
		if d := left(); d != 10*time.Second {
			t.Errorf("with an older version the lease is %v", d)
		}
		r.ask(func(s *Shard) error { return s.Set("q", &eventspb.JobQueueSettings{Version: 6, LeaseMs: 20_000}) })
		r.submit(job(""))
		r.commit()
		r.Crash()
		r.commit()
		if d := left(); d != 20*time.Second {
			t.Errorf("with a new version and a new owner the lease is %v", d)
		}
		r.submit(job("", "x", "y", "z"))
		r.ask(func(s *Shard) error { return s.Set("q", &eventspb.JobQueueSettings{Version: 7, MaxResources: 2}) })
		r.commit()
		r.Crash()
		refused := r.submit(job("", "new"))[0]
		r.commit()
		if jobs := r.poll("a", 5, "x", "y", "z"); len(jobs) != 1 || r.row(TableRefusals, refused) == nil {
			t.Errorf("with a limit of less resources than there are: %+v", jobs)
		}
	})
}

// TestPolledAgain: an agent has one poll at a time, the last one.
func TestPolledAgain(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		first, second, other := r.pollFor("a", 1), r.pollFor("a", 1), r.pollFor("b", 1)
		if a := <-first; !errors.Is(a.Err, ErrPolled) {
			t.Errorf("the first poll: %+v", a)
		}
		r.submit(job("x"), job("y"))
		r.commit()
		for name, answer := range map[string]<-chan Answer{"second": second, "other": other} {
			if jobs, ok := answered(answer); !ok || len(jobs) != 1 {
				t.Errorf("the %s poll: %+v", name, jobs)
			}
		}
	})
}

// TestAbandoned: a poll is abandoned once, and only before jobs were started for it: then it gets
// them when that has committed, and its caller can take them back. No job is started for an
// abandoned poll.
func TestAbandoned(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1, MaxAttempts: 1}, func(r *run) {
		ids := r.submit(job("x"))
		r.commit()
		p, answer := NewPoll(new(Ticket), "q", jobqueue.Profile{}, jobqueue.Poll{Agent: "a", N: 1})
		r.ask(func(s *Shard) error { return s.Poll(p) })
		if p.Abandon() {
			t.Error("a poll is abandoned after a job was started for it")
		}
		if r.commit(); p.Abandon() {
			t.Error("a poll is abandoned after its answer")
		}
		if jobs, ok := answered(answer); !ok || jobs[0].Attempt != 1 {
			t.Errorf("the answer: %+v", jobs)
		}
		r.ask(func(s *Shard) error { return s.Release(&Attempt{"q", "a", ids[0], 1}) })
		r.commit()
		if jobs := r.poll("b", 1); len(jobs) != 1 || jobs[0].Attempt != 2 {
			t.Errorf("after the attempt was taken back: %+v", jobs)
		}
		p, _ = NewPoll(new(Ticket), "q", jobqueue.Profile{}, jobqueue.Poll{Agent: "d", N: 1})
		r.ask(func(s *Shard) error { return s.Poll(p) })
		if !p.Abandon() || p.Abandon() {
			t.Error("a poll that is parked is abandoned once")
		}
		r.submit(job("y"))
		r.commit()
		if jobs := r.poll("e", 1); len(jobs) != 1 || jobs[0].Attempt != 1 {
			t.Errorf("a job after an abandoned poll that was parked: %+v", jobs)
		}
		p, _ = NewPoll(new(Ticket), "q", jobqueue.Profile{}, jobqueue.Poll{Agent: "f", N: 1})
		p.Abandon() // before the shard has it
		r.submit(job("z"))
		r.ask(func(s *Shard) error { return s.Poll(p) })
		r.commit()
		if jobs := r.poll("g", 1); len(jobs) != 1 || jobs[0].Attempt != 1 {
			t.Errorf("a job after an abandoned poll: %+v", jobs)
		}
	})
}

// TestTicket: of the polls of a ticket, in several partitions, one gets jobs, also when both could
// get some before the first commit. A poll that is ended has an answer without jobs, unless jobs
// were started for it.
func TestTicket(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		other := &run{Runner: streamtest.New(t, streamtest.Options{Processor: Processor(events.Layout{Shards: 1}, nil)}), t: t}
		defer func() { other.Handler().(stream.Closer).Close() }()
		other.ask(func(s *Shard) error { return s.Set("q", &eventspb.JobQueueSettings{Version: 1}) })
		other.commit()
		park := func(r *run, ticket *Ticket) (*Poll, <-chan Answer) {
			p, answer := NewPoll(ticket, "q", jobqueue.Profile{}, jobqueue.Poll{Agent: "a", N: 1})
			r.ask(func(s *Shard) error { return s.Poll(p) })
			r.commit()
			return p, answer
		}
		ticket := &Ticket{}
		_, here := park(r, ticket)
		lost, there := park(other, ticket)
		r.submit(job("x"))
		other.submit(job("y"))
		r.commit() // starts the job
		other.commit()
		if !lost.Abandon() {
			t.Error("two polls of a ticket have jobs")
		}
		late, none := park(other, ticket)
		r.commit()
		other.commit()
		if jobs, ok := answered(here); !ok || len(jobs) != 1 {
			t.Errorf("the answer of the poll that has won: %+v", jobs)
		}
		for _, answer := range []<-chan Answer{there, none} {
			if jobs, ok := answered(answer); ok {
				t.Errorf("the answer of another poll: %+v", jobs)
			}
		}
		if !late.Abandon() {
			t.Error("a poll that came late has jobs")
		}
		if jobs := other.poll("b", 1); len(jobs) != 1 || jobs[0].Attempt != 1 {
			t.Errorf("the job of the other partition: %+v", jobs)
		}
		end := func() { r.ask(func(s *Shard) error { return s.EndPoll("q", "a", 0) }) }
		_, ended := park(r, new(Ticket))
		r.ask(func(s *Shard) error { return s.EndPoll("q", "a", 7) })
		if len(ended) > 0 {
			t.Error("a poll with another number is ended")
		}
		end()
		if a, open := <-ended; !open || a.Err != nil || len(a.Jobs) > 0 {
			t.Errorf("the answer of a poll that was ended: %+v", a)
		}
		_, ended = park(r, new(Ticket))
		r.submit(job("z"))
		r.commit()
		end()
		r.commit()
		if jobs, ok := answered(ended); !ok || len(jobs) != 1 {
			t.Errorf("the answer of a poll that was ended after a job was started for it: %+v", jobs)
		}
		end() // the agent has no poll
		if err := r.refused(func(s *Shard) error { return s.EndPoll("none", "a", 0) }); !errors.Is(err, ErrQueue) {
			t.Error(err)
		}
	})
}

// TestFreeSlot: the parked poll of an agent without a free slot gets a job when one of its jobs has
// ended.
func TestFreeSlot(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		ids := r.submit(job("x"), job("y"))
		r.commit()
		poll := func() <-chan Answer {
			p, answer := NewPoll(new(Ticket), "q", jobqueue.Profile{Slots: 1}, jobqueue.Poll{Agent: "a", N: 1, Policy: jobqueue.Greedy})
			r.ask(func(s *Shard) error { return s.Poll(p) })
			r.commit()
			return answer
		}
		if jobs, ok := answered(poll()); !ok || jobs[0].ID != ids[0] {
			t.Fatalf("the first poll: %+v", jobs)
		}
		waiting := poll()
		if jobs, ok := answered(waiting); ok {
			t.Fatalf("without a free slot: %+v", jobs)
		}
		r.ask(func(s *Shard) error { return s.Complete(&Attempt{"q", "a", ids[0], 1}, nil) })
		if r.commit(); !r.Woken() {
			t.Error("the start of a job requests no commit")
		}
		r.commit()
		if jobs, ok := answered(waiting); !ok || jobs[0].ID != ids[1] {
			t.Errorf("with a free slot: %+v", jobs)
		}
	})
}

// TestNoJobLeft: a poll that waits for a delay does not request commits after another agent got the
// job.
func TestNoJobLeft(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		r.pollFor("near", 1, "model")
		x := job("x")
		x.GetSpec().Prefer = []string{"model"}
		p, _ := NewPoll(new(Ticket), "q", jobqueue.Profile{}, jobqueue.Poll{Agent: "far", N: 1, Policy: jobqueue.Patient, Delay: 5000})
		r.ask(func(s *Shard) error { return s.Pause("q", false) })
		r.submit(x)
		r.commit()
		r.ask(func(s *Shard) error { return s.Resume("q") })
		r.ask(func(s *Shard) error { return s.Poll(p) })
		r.commit()
		r.commit()
		if n := r.core().Counts(); n[jobqueue.Running] != 1 {
			t.Fatalf("jobs by state: %v", n)
		}
		ids := []jobqueue.ID{0}
		r.ask(func(s *Shard) error { return s.Complete(&Attempt{"q", "near", ids[0], 1}, nil) })
		r.commit()
		<-time.After(6 * time.Second)
		commits := 0
		for range 100 {
			<-time.After(10 * time.Millisecond)
			if r.Woken() {
				commits++
				r.commit()
			}
		}
		if commits > 3 {
			t.Errorf("%d commits in a second without jobs", commits)
		}
	})
}

// TestShown: readers see the states of committed transactions, and of no others; also after the
// partition has moved.
func TestShown(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		shown := func() jobqueue.State {
			var shard *Shard
			r.ask(func(s *Shard) error { shard = s; return nil })
			states, err := shard.Shown().States("q")
			if err != nil {
				t.Fatal(err)
			}
			return states.State(0)
		}
		want := func(what string, want jobqueue.State) {
			t.Helper()
			if got := shown(); got != want {
				t.Errorf("%s: readers see %v, want %v", what, got, want)
			}
		}
		r.submit(job("x"))
		want("before the commit", jobqueue.None)
		r.commit()
		want("after the commit", jobqueue.Pending)
		r.pollFor("a", 1)
		want("before the commit of the start", jobqueue.Pending)
		var before *Shard
		r.ask(func(s *Shard) error { before = s; return nil })
		r.Abort(time.Now().UnixMilli()) // after its Flush
		if states, err := before.Shown().States("q"); err != nil || states.State(0) != jobqueue.Pending {
			t.Errorf("after a Flush without a commit: %v, %v", states.State(0), err)
		}
		want("after it was aborted", jobqueue.Pending)
		r.poll("a", 1)
		want("after the commit of the start", jobqueue.Running)
		r.ask(func(s *Shard) error { return s.Complete(&Attempt{"q", "a", 0, 1}, nil) })
		r.commit()
		want("after the commit of the end", jobqueue.Done)
		r.ask(func(s *Shard) error { return s.Set("second", &eventspb.JobQueueSettings{Version: 1}) })
		var shard *Shard
		r.ask(func(s *Shard) error { shard = s; return nil })
		if _, err := shard.Shown().States("second"); !errors.Is(err, ErrQueue) {
			t.Errorf("a queue before its commit: %v", err)
		}
		r.commit()
		if _, err := shard.Shown().States("second"); err != nil {
			t.Errorf("a queue after its commit: %v", err)
		}
	})
}

// TestWhy: a shard explains why a job is not running, and selects and counts jobs.
func TestWhy(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		r.pollFor("a", 1, "cpu")
		grouped := job("", "gpu")
		grouped.Spec.Group = "g"
		ids := r.submit(job("", "cpu"), grouped, job("", "gpu"))
		r.commit()
		r.ask(func(s *Shard) error {
			why, err := s.Why("q", ids[1])
			if err != nil || why.String() != "pending: 0 of 1 agents fit: 1 lack gpu" {
				t.Errorf("%v, %v", why, err)
			}
			sel := &jobqueue.Selector{State: jobqueue.Pending, Group: "g"}
			list, err := s.Select("q", sel)
			if n, _ := s.Count("q", sel); err != nil || !slices.Equal(list, ids[1:2]) || n != 1 {
				t.Errorf("%v, %d, %v", list, n, err)
			}
			if q := s.Shown().Queues(); len(q) != 1 || q[0].Name != "q" || q[0].Agents != 1 || q[0].Jobs[jobqueue.Running] != 1 || q[0].Jobs[jobqueue.Pending] != 2 {
				t.Errorf("%+v", q)
			}
			return nil
		})
	})
}

// TestUnknown: requests about queues and jobs that do not exist are refused.
func TestUnknown(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1}, func(r *run) {
		p, _ := NewPoll(new(Ticket), "none", jobqueue.Profile{}, jobqueue.Poll{Agent: "a", N: 1})
		for name, fn := range map[string]func(s *Shard) error{
			"poll":      func(s *Shard) error { return s.Poll(p) },
			"complete":  func(s *Shard) error { return s.Complete(&Attempt{"none", "a", 1, 1}, nil) },
			"heartbeat": func(s *Shard) error { _, err := s.Heartbeat("none", "a", nil, nil); return err },
			"cancel":    func(s *Shard) error { return s.Cancel("none", 1) },
			"pause":     func(s *Shard) error { return s.Pause("none", false) },
			"count":     func(s *Shard) error { _, err := s.Count("none", &jobqueue.Selector{}); return err },
			"select":    func(s *Shard) error { _, err := s.Select("none", &jobqueue.Selector{}); return err },
			"why":       func(s *Shard) error { _, err := s.Why("none", 1); return err },
		} {
			if err := r.refused(fn); !errors.Is(err, ErrQueue) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for name, fn := range map[string]func(s *Shard) error{
			"complete": func(s *Shard) error { return s.Complete(&Attempt{"q", "a", 9, 1}, nil) },
			"fail":     func(s *Shard) error { return s.Fail(&Attempt{"q", "a", 9, 1}, "x", false) },
			"return":   func(s *Shard) error { return s.Return(&Attempt{"q", "a", 9, 1}) },
			"cancel":   func(s *Shard) error { return s.Cancel("q", 9) },
			"redo":     func(s *Shard) error { return s.Redo("q", 9) },
			"why":      func(s *Shard) error { _, err := s.Why("q", 9); return err },
		} {
			if err := r.refused(fn); !errors.Is(err, jobqueue.ErrUnknown) {
				t.Errorf("%s: %v", name, err)
			}
		}
		parked := r.pollFor("good", 1)
		for _, x := range []struct {
			jobqueue.Profile
			jobqueue.Poll
		}{
			{jobqueue.Profile{}, jobqueue.Poll{Agent: "", N: 1}},
			{jobqueue.Profile{}, jobqueue.Poll{Agent: "\xff", N: 1}},
			{jobqueue.Profile{}, jobqueue.Poll{Agent: "good", N: 0}},
			{jobqueue.Profile{}, jobqueue.Poll{Agent: "good", N: MaxPollJobs + 1}},
			{jobqueue.Profile{}, jobqueue.Poll{Agent: "good", N: 1, Policy: 9}},
			{jobqueue.Profile{}, jobqueue.Poll{Agent: "good", N: 1, Delay: -1}},
			{jobqueue.Profile{Slots: -1}, jobqueue.Poll{Agent: "good", N: 1}},
			{jobqueue.Profile{Slots: 1 << 31}, jobqueue.Poll{Agent: "good", N: 1}},
			{jobqueue.Profile{Has: []string{"\xff"}}, jobqueue.Poll{Agent: "good", N: 1}},
			{jobqueue.Profile{Has: []string{""}}, jobqueue.Poll{Agent: "good", N: 1}},
		} {
			p, _ := NewPoll(new(Ticket), "q", x.Profile, x.Poll)
			if err := r.refused(func(s *Shard) error { return s.Poll(p) }); !errors.Is(err, jobqueue.ErrInvalid) {
				t.Errorf("%+v: %v", x, err)
			}
		}
		r.commit()
		if _, ok := answered(parked); ok || len(parked) > 0 {
			t.Error("a refused poll has replaced the one before")
		}
		if n := len(r.Table(TableAgents)); n != 1 {
			t.Errorf("%d agents are up", n)
		}
	})
}

// TestRemoval: the rows of a closed segment are removed, some at a time, also by a new owner, and
// the final states stay.
func TestRemoval(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1, RetentionMs: 60_000}, func(r *run) {
		const n = 2500
		var list []*eventspb.JobSubmission
		for i := range n {
			list = append(list, job(fmt.Sprint("payload ", i)))
		}
		r.submit(list...)
		r.commit()
		for ended := 0; ended < n; {
			jobs := r.poll("a", 1000)
			ended += len(jobs)
			for _, j := range jobs {
				r.ask(func(s *Shard) error { return s.Complete(&Attempt{"q", "a", j.ID, 1}, []byte("ok")) })
			}
			r.commit()
		}
		r.skip(jobqueue.SegmentSize)
		last := r.submit(job("last"))[0]
		r.commit()
		r.sleep(59 * time.Second)
		if len(r.Table(TableJobs)) != n+1 {
			t.Fatalf("%d jobs before the retention", len(r.Table(TableJobs)))
		}
		r.sleep(2 * time.Second) // the segment closes
		r.commit()
		if left := len(r.Table(TableJobs)); left == n+1 || left == 1 {
			t.Errorf("%d jobs have rows while rows are removed", left)
		}
		r.Crash()
		for range 10 {
			r.commit()
		}
		for _, table := range jobTables() {
			if rows := r.Table(table); len(rows) > 1 {
				t.Errorf("table %d has %d rows", table, len(rows))
			}
		}
		if s := r.state(7); s != jobqueue.Done {
			t.Errorf("an evicted job is %v", s)
		}
		if jobs := r.poll("a", 5); len(jobs) != 1 || jobs[0].ID != last || string(jobs[0].Payload) != "last" {
			t.Errorf("the last job: %+v", jobs)
		}
		m := &eventspb.JobSegment{}
		if err := proto.Unmarshal(r.row(TableSegments, 0), m); err != nil || !m.GetRemoved() || !m.GetClosed() {
			t.Errorf("the segment: %v, %v", m, err)
		}
	})
}
