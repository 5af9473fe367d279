package queues

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
)

// taken returns the records of an output since the last call. Those of other outputs are dropped.
func taken[M any, P interface {
	*M
	proto.Message
}](r *run, output string) (list []P, records []stream.Change) {
	r.t.Helper()
	for _, c := range r.TakeOutputs() {
		if c.Output() != output {
			continue
		}
		m := P(new(M))
		if err := proto.Unmarshal(c.Value, m); err != nil {
			r.t.Fatal(err)
		}
		list, records = append(list, m), append(records, c)
	}
	return list, records
}

// followed is what a consumer of jobs.events knows about jobs.
type followed struct {
	jobs map[string]*followedJob
}

type followedJob struct {
	state   string
	attempt uint32
	agent   string
}

// Stages of a job, as its events show them.
const (
	waits    = "waits" // delayed, blocked or pending
	runs     = "runs"
	done     = "done"
	failed   = "failed"
	canceled = "canceled"
)

// take follows events. An error means that an event does not follow from those before.
func (f *followed) take(list []*eventspb.JobEvent) error {
	for _, m := range list {
		if m.GetJob() == "" {
			continue
		}
		if err := f.one(m); err != nil {
			return fmt.Errorf("event %v of a job that %+v: %w", m, f.jobs[m.GetJob()], err)
		}
	}
	return nil
}

func (f *followed) one(m *eventspb.JobEvent) error {
	j := f.jobs[m.GetJob()]
	if j == nil {
		j = &followedJob{}
		f.jobs[m.GetJob()] = j
	}
	from, to := []string{runs}, waits
	switch m.GetKind() {
	case eventspb.JobEventKind_JOB_EVENT_KIND_SUBMITTED:
		from = []string{""}
	case eventspb.JobEventKind_JOB_EVENT_KIND_REFUSED:
		from, to = []string{""}, ""
	case eventspb.JobEventKind_JOB_EVENT_KIND_DUE:
		from = []string{waits}
	case eventspb.JobEventKind_JOB_EVENT_KIND_STARTED:
		from, to = []string{waits}, runs
		if m.GetAttempt() != j.attempt+1 || m.GetAgent() == "" || m.GetUntilMs() <= m.GetAtMs() {
			return fmt.Errorf("a start after attempt %d", j.attempt)
		}
		j.attempt, j.agent = m.GetAttempt(), m.GetAgent()
	case eventspb.JobEventKind_JOB_EVENT_KIND_DONE:
		to = done
	case eventspb.JobEventKind_JOB_EVENT_KIND_FAILED:
		to = failed
	case eventspb.JobEventKind_JOB_EVENT_KIND_CANCELED:
		from, to = []string{waits, runs, failed}, canceled
	case eventspb.JobEventKind_JOB_EVENT_KIND_REDONE:
		from = []string{done, failed, canceled}
	default:
	}
	if !slices.Contains(from, j.state) {
		return fmt.Errorf("not from %q", j.state)
	}
	if j.state == runs && (m.GetAgent() != j.agent || m.GetAttempt() != j.attempt) {
		return fmt.Errorf("agent %s has attempt %d", j.agent, j.attempt)
	}
	j.state = to
	return nil
}

// compare returns an error if jobs have other states than their events show.
func (f *followed) compare(states []jobqueue.State) error {
	for id, s := range states {
		want := waits
		switch s {
		case jobqueue.None:
			want = ""
		case jobqueue.Running:
			want = runs
		case jobqueue.Done:
			want = done
		case jobqueue.Failed:
			want = failed
		case jobqueue.Canceled:
			want = canceled
		default:
		}
		got := ""
		if j := f.jobs[fmt.Sprintf("0-%d", id)]; j != nil {
			got = j.state
		}
		if got != want {
			return fmt.Errorf("job %d is %s, and its events show %q", id, s, got)
		}
	}
	return nil
}

// TestEvents: the events of a queue, with what the agents reported, in the partition of the job. A
// queue without events has none, also after it had some. The transaction that changes the setting
// has events as the one before.
func TestEvents(t *testing.T) {
	settings := &eventspb.JobQueueSettings{Version: 1, MaxAttempts: 2, AvoidMs: -1, LeaseMs: 1000}
	inBubble(t, proto.CloneOf(settings), func(r *run) {
		set := func(on bool) {
			settings.Version++
			settings.Events = on
			r.ask(func(s *Shard) error { return s.Set("q", proto.CloneOf(settings)) })
		}
		events := func() (got []string) {
			t.Helper()
			list, records := taken[eventspb.JobEvent](r, eventsOutput)
			for i, m := range list {
				if c := records[i]; c.To.Partition != 0 || string(c.Key) != m.GetJob() || c.To.TimeMs != m.GetAtMs() || m.GetQueue() != "q" {
					t.Errorf("the record of %v: %+v", m, c)
				}
				kind := strings.ToLower(strings.TrimPrefix(m.GetKind().String(), "JOB_EVENT_KIND_"))
				words := []string{m.GetJob(), kind, fmt.Sprint(m.GetAttempt()), m.GetAgent(), m.GetReason(), m.GetError(), string(m.GetResult())}
				words = slices.Concat(words, m.GetSpec().GetRequire(), m.GetHas())
				got = append(got, strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
			}
			return got
		}
		want := func(want ...string) {
			t.Helper()
			r.commit()
			if got := events(); !slices.Equal(got, want) {
				t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		r.submit(job("", "x"))
		want()
		r.submit(job("", "y"), &eventspb.JobSubmission{Payload: make([]byte, MaxPayload+1)}) // 1 and 2
		set(true)
		want()
		r.submit(job("", "x")) // 3
		jobs := r.poll("a", 2, "x")
		want("0-3 submitted 0 x", "agent_up 0 a x", "0-0 started 1 a", "0-3 started 1 a")
		complete := func(id jobqueue.ID, attempt uint8) {
			r.ask(func(s *Shard) error { return s.Complete(&Attempt{"q", "a", id, attempt}, []byte("fine")) })
		}
		fail := func(id jobqueue.ID, attempt uint8) {
			r.ask(func(s *Shard) error { return s.Fail(&Attempt{"q", "a", id, attempt}, "broken", false) })
		}
		complete(jobs[0].ID, 1)
		fail(3, 1)
		want("0-0 done 1 a fine", "0-3 retrying 1 a reported broken")
		r.sleep(1500 * time.Millisecond) // the backoff
		want("0-3 due 0")
		r.poll("a", 1, "x")
		want("0-3 started 2 a")
		r.sleep(1200 * time.Millisecond) // the lease ends
		want("0-3 failed 2 a expired")
		r.ask(func(s *Shard) error { return s.Redo("q", 3) })
		want("0-3 redone 0")
		r.poll("a", 1, "x")
		r.ask(func(s *Shard) error { return s.Release(&Attempt{"q", "a", 3, 3}) })
		want("0-3 started 3 a", "0-3 returned 3 a pullback")
		r.poll("a", 1, "x")
		r.ask(func(s *Shard) error { return s.Pause("q", true) })
		r.ask(func(s *Shard) error { return s.Resume("q") })
		want("0-3 started 4 a", "paused 0", "0-3 returned 4 a pullback", "resumed 0")
		r.poll("a", 1, "x")
		r.ask(func(s *Shard) error { return s.Cancel("q", 3) })
		want("0-3 started 5 a", "0-3 canceled 5 a")
		r.submit(&eventspb.JobSubmission{Payload: make([]byte, MaxPayload+1)}) // 4
		r.submit(job("", "x"))                                                 // 5
		r.poll("a", 1, "x")
		r.ask(func(s *Shard) error { return s.Fail(&Attempt{"q", "a", 5, 1}, "no", true) })
		r.ask(func(s *Shard) error { return s.Cancel("q", 5) }) // a failed job
		r.sleep(5 * time.Second)                                // the agent does not ask
		r.commit()
		got := events()
		if len(got) == 0 || !strings.HasPrefix(got[0], "0-4 refused 0 payload_too_large the payload has 4097 bytes") {
			t.Errorf("the event of a refused submission: %q", got)
		}
		if rest := []string{"0-5 submitted 0 x", "0-5 started 1 a", "0-5 failed 1 a reported no", "0-5 canceled 0", "agent_down 0 a"}; !slices.Equal(got[1:], rest) {
			t.Errorf("events %q, want %q", got[1:], rest)
		}
		r.submit(job("", "x")) // 6
		set(false)
		want("0-6 submitted 0 x")
		r.submit(job("", "x"))
		want()
	})
}
