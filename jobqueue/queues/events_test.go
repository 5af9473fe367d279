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
	waits = "waits" // delayed, blocked or pending
	runs  = "runs"
	done  = "done"
	ended = "failed or canceled"
)

// take follows events. An error means that an event does not follow from those before.
func (f *followed) take(list []*eventspb.JobEvent) error {
	for _, m := range list {
		if m.GetJob() == "" || m.GetKind() == eventspb.JobEventKind_JOB_EVENT_KIND_EVICTED {
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
		to = ended
	case eventspb.JobEventKind_JOB_EVENT_KIND_CANCELED:
		from, to = []string{waits, runs}, ended
	case eventspb.JobEventKind_JOB_EVENT_KIND_REDONE:
		from = []string{done, ended}
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
		case jobqueue.Failed, jobqueue.Canceled:
			want = ended
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
// queue without events has none, also after it had some.
func TestEvents(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1, MaxAttempts: 2, AvoidMs: -1, LeaseMs: 1000}, func(r *run) {
		r.submit(job("", "x"))
		r.commit()
		if list, _ := taken[eventspb.JobEvent](r, eventsOutput); len(list) > 0 {
			t.Errorf("events of a queue without: %v", list)
		}
		r.submit(job("", "y")) // in the transaction that turns events on, and before
		r.ask(func(s *Shard) error {
			return s.Set("q", &eventspb.JobQueueSettings{Version: 2, MaxAttempts: 2, AvoidMs: -1, LeaseMs: 1000, Events: true})
		})
		r.submit(job("", "x"), &eventspb.JobSubmission{Payload: make([]byte, MaxPayload+1)})
		jobs := r.poll("a", 2, "x")
		r.ask(func(s *Shard) error { return s.Complete(&Attempt{"q", "a", jobs[0].ID, 1}, []byte("r")) })
		r.ask(func(s *Shard) error { return s.Fail(&Attempt{"q", "a", jobs[1].ID, 1}, "broken", false) })
		r.sleep(1500 * time.Millisecond) // the backoff
		r.commit()
		r.poll("a", 1, "x")
		r.sleep(2 * time.Second) // the lease ends
		r.commit()
		r.ask(func(s *Shard) error { return s.Pause("q", false) })
		r.ask(func(s *Shard) error { return s.Redo("q", jobs[1].ID) })
		r.ask(func(s *Shard) error { return s.Cancel("q", jobs[1].ID) })
		r.commit()
		list, records := taken[eventspb.JobEvent](r, eventsOutput)
		var got []string
		for i, m := range list {
			if c := records[i]; c.To.Partition != 0 || string(c.Key) != m.GetJob() || c.To.TimeMs != m.GetAtMs() || m.GetQueue() != "q" {
				t.Errorf("the record of %v: %+v", m, c)
			}
			kind := strings.ToLower(strings.TrimPrefix(m.GetKind().String(), "JOB_EVENT_KIND_"))
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s%d %s %s%s %s%s", m.GetJob(), kind, m.GetAttempt(), m.GetAgent(), m.GetReason(),
				strings.Repeat("!", min(1, len(m.GetError()))), m.GetResult(), strings.Join(append(m.GetSpec().GetRequire(), m.GetHas()...), " "))))
		}
		want := []string{
			"0-3 refused0  payload_too_large!", "0-2 submitted0   x", "agent_up0 a  x", "0-0 started1 a", "0-2 started1 a", "0-0 done1 a  r",
			"0-2 retrying1 a reported!", "0-2 due0", "0-2 started2 a", "0-2 failed2 a expired", "paused0", "0-2 redone0", "0-2 canceled0",
		}
		if !slices.Equal(got, want) {
			t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		r.ask(func(s *Shard) error { return s.Set("q", &eventspb.JobQueueSettings{Version: 3}) })
		r.submit(job("", "x"))
		r.commit()
		if list, _ := taken[eventspb.JobEvent](r, eventsOutput); len(list) > 0 {
			t.Errorf("events of a queue that has none any more: %v", list)
		}
	})
}
