package queues

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/shorten"
	"github.com/weirhq/weir/jobqueue"
)

// Bounds of what an agent reports about an attempt, in bytes.
const (
	MaxResult = 4 << 10
	MaxError  = 4 << 10
	// MaxProgress is the bound of what the agent reports while the attempt runs.
	MaxProgress = 200
)

// Attempt is an attempt of a job, as an agent knows it.
type Attempt struct {
	Queue   string
	Agent   string
	ID      jobqueue.ID
	Attempt uint8
}

// ErrVersion means that the queue has other settings with the version, or later ones (409).
var ErrVersion = errors.New("the queue was changed at the same time: repeat the request")

// Set creates a queue, or changes its settings. Repeated, it changes nothing. The error wraps
// ErrVersion or jobqueue.ErrInvalid.
func (s *Shard) Set(name string, m *eventspb.JobQueueSettings) error {
	if !ValidName(name) {
		return fmt.Errorf("%w name of a queue %.20q: 1 to 100 lower-case letters, digits, '.', '_' or '-' are possible, and the first is a letter or a digit",
			jobqueue.ErrInvalid, name)
	}
	cfg, err := coreConfig(m)
	if err != nil {
		return err
	}
	q := s.queues[name]
	switch {
	case q == nil:
		q = newQueue(name, m)
		if q.core, err = jobqueue.New(cfg); err != nil {
			return err
		}
		q.begin()
		s.add(q)
	case proto.Equal(m, q.settings):
		return nil
	case m.GetVersion() <= q.settings.GetVersion():
		return fmt.Errorf("version %d, and the queue has version %d: %w", m.GetVersion(), q.settings.GetVersion(), ErrVersion)
	default:
		if err := q.core.Configure(cfg); err != nil {
			return err
		}
		q.settings, q.work = m, true
	}
	q.set = true
	s.Wake()
	return nil
}

// Complete reports that an attempt succeeded, with its result. Repeated, it changes nothing.
func (s *Shard) Complete(a *Attempt, result []byte) error {
	if len(result) > MaxResult {
		return fmt.Errorf("%w result of %d bytes: the maximum is %d: store it in another system, and give a reference",
			jobqueue.ErrInvalid, len(result), MaxResult)
	}
	return s.end(a, &eventspb.JobResult{Result: result}, func(q *jobqueue.Queue, now int64) (jobqueue.Decision, error) {
		return q.Complete(now, a.Agent, a.ID, a.Attempt)
	})
}

// Fail reports that an attempt failed, with the reason. for good: no other attempt would succeed.
func (s *Shard) Fail(a *Attempt, reason string, forGood bool) error {
	result := &eventspb.JobResult{Error: shorten.Text(reason, MaxError)}
	return s.end(a, result, func(q *jobqueue.Queue, now int64) (jobqueue.Decision, error) {
		if forGood {
			return q.FailForGood(now, a.Agent, a.ID, a.Attempt)
		}
		return q.Fail(now, a.Agent, a.ID, a.Attempt)
	})
}

// Return returns a job without a result: the attempt is not charged.
func (s *Shard) Return(a *Attempt) error {
	return s.end(a, nil, func(q *jobqueue.Queue, now int64) (jobqueue.Decision, error) {
		return q.Return(now, a.Agent, a.ID, a.Attempt)
	})
}

// Release takes back the start of a job whose agent has gone without its answer.
func (s *Shard) Release(a *Attempt) error {
	return s.end(a, nil, func(q *jobqueue.Queue, now int64) (jobqueue.Decision, error) {
		return q.Release(now, a.Agent, a.ID, a.Attempt)
	})
}

// end ends an attempt. result may be nil.
func (s *Shard) end(a *Attempt, result *eventspb.JobResult, decide func(q *jobqueue.Queue, now int64) (jobqueue.Decision, error)) error {
	q, err := s.queue(a.Queue)
	if err != nil {
		return err
	}
	if a.Agent == "" {
		return fmt.Errorf("%w report about job %d: it has no agent", jobqueue.ErrInvalid, a.ID)
	}
	now := time.Now().UnixMilli()
	d, err := decide(q.core, now)
	if err != nil {
		return err
	}
	q.see(a.Agent, now)
	if d.Kind == jobqueue.Nothing {
		return nil
	}
	if result != nil {
		result.Attempt, result.Agent, result.EndedMs = uint32(d.Attempt), a.Agent, d.At
		q.results[d.ID] = result
	}
	q.note([]jobqueue.Decision{d}, now)
	q.free(a.Agent)
	s.Wake()
	return nil
}

// Heartbeat renews the leases of jobs that an agent has, and returns those that it does not have
// any more and must stop. progress has what people see of each of the jobs, MaxProgress bytes of
// it; empty: as before. nil: of none. It is known until the attempt is over, the partition moves or
// a transaction is aborted.
func (s *Shard) Heartbeat(name, agent string, jobs []jobqueue.Held, progress []string) (stop []jobqueue.Held, err error) {
	q, err := s.queue(name)
	if err != nil {
		return nil, err
	}
	if agent == "" {
		return nil, fmt.Errorf("%w heartbeat: it has no agent", jobqueue.ErrInvalid)
	}
	now := time.Now().UnixMilli()
	q.see(agent, now)
	_, stop = q.core.Heartbeat(nil, now, agent, jobs)
	for i, text := range progress {
		if text != "" && !slices.Contains(stop, jobs[i]) {
			q.shown.progress.set(jobs[i].ID, attemptProgress{jobs[i].Attempt, shorten.Text(text, MaxProgress)})
		}
	}
	return stop, nil
}

// Cancel cancels a job that has not succeeded. Repeated, it changes nothing.
func (s *Shard) Cancel(name string, id jobqueue.ID) error {
	return s.change(name, func(q *jobqueue.Queue, now int64) ([]jobqueue.Decision, error) { return one(q.Cancel(now, id)) })
}

// Redo makes a job that has ended pending again.
func (s *Shard) Redo(name string, id jobqueue.ID) error {
	return s.change(name, func(q *jobqueue.Queue, now int64) ([]jobqueue.Decision, error) { return one(q.Redo(now, id)) })
}

// Pause stops the start of jobs. With pullback, running jobs are taken from their agents.
func (s *Shard) Pause(name string, pullback bool) error {
	return s.change(name, func(q *jobqueue.Queue, now int64) ([]jobqueue.Decision, error) { return q.Pause(nil, now, pullback) })
}

// Resume ends a pause.
func (s *Shard) Resume(name string) error {
	return s.change(name, func(q *jobqueue.Queue, now int64) ([]jobqueue.Decision, error) { return one(q.Resume(now)) })
}

func one(d jobqueue.Decision, err error) ([]jobqueue.Decision, error) {
	if err != nil || d.Kind == jobqueue.Nothing {
		return nil, err
	}
	return []jobqueue.Decision{d}, nil
}

// change makes decisions about a queue.
func (s *Shard) change(name string, decide func(q *jobqueue.Queue, now int64) ([]jobqueue.Decision, error)) error {
	q, err := s.queue(name)
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	ds, err := decide(q.core, now)
	if err != nil {
		return err
	}
	if len(ds) > 0 {
		q.note(ds, now)
		q.work = true
		s.Wake()
	}
	return nil
}
