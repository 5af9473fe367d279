package queues

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
)

// MaxPollJobs is the maximum number of jobs of a poll.
const MaxPollJobs = 1000

// Poll is the request of an agent for jobs. It is parked until there is one, and answered when the
// start of its jobs has committed.
type Poll struct {
	Queue   string
	Profile jobqueue.Profile // of the agent: it replaces the one that the agent had
	jobqueue.Poll

	state   atomic.Int32 // pollWaits, pollAnswered or pollAbandoned
	answer  chan Answer
	started []jobqueue.Decision
	retryMs int64 // when waiting alone may give it a job; 0: never
}

// States of a poll. The shard answers it, or its caller abandons it, whichever is first.
const (
	pollWaits int32 = iota
	pollAnswered
	pollAbandoned
)

// Abandon ends the wait of the caller, from any goroutine. If it returns false, the poll has its
// answer. Otherwise it gets none: jobs that were started for it are released when that has
// committed.
func (p *Poll) Abandon() bool { return p.state.CompareAndSwap(pollWaits, pollAbandoned) }

// reply answers the poll, unless it is abandoned.
func (p *Poll) reply(a Answer) bool {
	if !p.state.CompareAndSwap(pollWaits, pollAnswered) {
		return false
	}
	p.answer <- a
	return true
}

// end closes the channel of the answer, unless the poll is abandoned.
func (p *Poll) end() {
	if p.state.CompareAndSwap(pollWaits, pollAnswered) {
		close(p.answer)
	}
}

// abandoned reports whether the caller of the poll waits no longer.
func (p *Poll) abandoned() bool { return p.state.Load() == pollAbandoned }

// Answer is the answer to a poll.
type Answer struct {
	Jobs []Job
	Err  error // ErrPolled, or why the rows of the jobs could not be read: their leases end
}

// ErrPolled means that the agent has polled again, before the answer (409). An agent has a name of
// its own.
var ErrPolled = errors.New("the agent has polled again")

// Job is a job that an agent has.
type Job struct {
	ID      jobqueue.ID
	Attempt uint8
	UntilMs int64 // end of the lease, Unix ms
	LeaseMs int64 // length of the lease
	*eventspb.StoredJob
	Payload []byte
}

// NewPoll returns a poll, and the channel of its answer. The channel is closed without an answer if
// the partition moves: poll its next owner.
func NewPoll(queue string, profile jobqueue.Profile, p jobqueue.Poll) (poll *Poll, answer <-chan Answer) {
	poll = &Poll{Queue: queue, Profile: profile, Poll: p, answer: make(chan Answer, 1)}
	return poll, poll.answer
}

// ErrQueue means that the partition does not have the queue (404).
var ErrQueue = errors.New("no queue has this name")

// queue returns a queue. The error wraps ErrQueue.
func (s *Shard) queue(name string) (*queue, error) {
	if q := s.queues[name]; q != nil {
		return q, nil
	}
	return nil, fmt.Errorf("queue %q: %w in partition %d", name, ErrQueue, s.Partition)
}

// Poll takes a poll. After an error there is no answer.
func (s *Shard) Poll(p *Poll) error {
	q, err := s.queue(p.Queue)
	if err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	if was, up := q.core.Profile(p.Agent); !up || !equal(&was, &p.Profile) {
		if _, err := q.core.Declare(now, p.Agent, &p.Profile); err != nil {
			return err
		}
		q.work = true
	}
	q.seen[p.Agent] = now
	q.parked = slices.DeleteFunc(q.parked, func(x *Poll) bool {
		if x.Agent != p.Agent {
			return false
		}
		x.reply(Answer{Err: ErrPolled})
		return true
	})
	if err := s.try(q, p, now); err != nil {
		return err
	}
	if len(p.started) == 0 {
		q.parked = append(q.parked, p)
		s.wakeAt(p.retryMs)
	}
	return nil
}

// check returns an error if the poll can have no answer.
func (p *Poll) check() error {
	switch {
	case p.Agent == "" || !utf8.ValidString(p.Agent):
		return fmt.Errorf("%w poll: it has no agent, or its name is not UTF-8", jobqueue.ErrInvalid)
	case slices.ContainsFunc(p.Profile.Has, func(name string) bool { return !utf8.ValidString(name) }):
		return fmt.Errorf("%w poll of agent %q: the name of a resource is not UTF-8", jobqueue.ErrInvalid, p.Agent)
	case p.N < 1 || p.N > MaxPollJobs:
		return fmt.Errorf("%w poll of agent %q: %d jobs, and 1 to %d are possible", jobqueue.ErrInvalid, p.Agent, p.N, MaxPollJobs)
	case p.Profile.Slots < 0 || p.Profile.Slots > math.MaxInt32:
		return fmt.Errorf("%w poll of agent %q: %d slots", jobqueue.ErrInvalid, p.Agent, p.Profile.Slots)
	case p.Policy > jobqueue.Patient || p.Delay < 0:
		return fmt.Errorf("%w poll of agent %q: policy %d with a delay of %d ms", jobqueue.ErrInvalid, p.Agent, p.Policy, p.Delay)
	}
	return nil
}

// equal reports whether two profiles have the same resources and slots. That of the core is sorted.
func equal(was, now *jobqueue.Profile) bool {
	has := slices.Clone(now.Has)
	slices.Sort(has)
	return was.Slots == now.Slots && slices.Equal(was.Has, slices.Compact(has))
}

// try starts jobs for a poll. If there are some, they are given to the agent when the transaction
// has committed.
func (s *Shard) try(q *queue, p *Poll, now int64) (err error) {
	if p.started, p.retryMs, err = q.core.Poll(nil, now, &p.Poll); err != nil {
		return err
	}
	if len(p.started) > 0 {
		s.picked = append(s.picked, p)
		s.Wake()
	}
	return nil
}

// serve tries the parked polls that may get a job now, and returns when waiting alone may give one
// a job.
func (s *Shard) serve(q *queue, now int64) (due int64) {
	due = now + maxQuiet.Milliseconds()
	rest := q.parked[:0]
	for _, p := range q.parked {
		if p.abandoned() {
			continue
		}
		if q.work || p.retryMs > 0 && p.retryMs <= now {
			if err := s.try(q, p, now); err != nil { // the agent is down: it polls again
				p.end()
				continue
			}
		}
		if len(p.started) > 0 {
			continue
		}
		if p.retryMs > 0 {
			due = min(due, p.retryMs)
		}
		rest = append(rest, p)
	}
	clear(q.parked[len(rest):])
	q.parked, q.work = rest, false
	return due
}

// read reads the jobs of a poll whose transaction has committed.
func (s *Shard) read(p *Poll) ([]Job, error) {
	var keys [][]byte
	order := slices.Clone(p.started)
	slices.SortFunc(order, func(a, b jobqueue.Decision) int { return cmp.Compare(a.ID, b.ID) })
	at := map[jobqueue.ID]int{}
	jobs := make([]Job, len(p.started))
	for i := range p.started {
		d := &p.started[i]
		jobs[i] = Job{ID: d.ID, Attempt: d.Attempt, UntilMs: d.Until, LeaseMs: d.Until - d.At, StoredJob: &eventspb.StoredJob{}}
		at[d.ID] = i
	}
	for i := range order {
		keys = append(keys, NumberKey(nil, p.Queue, order[i].ID))
	}
	err := s.MultiGet(TableJobs, keys, func(i int, value []byte) error {
		return proto.Unmarshal(value, jobs[at[order[i].ID]].StoredJob)
	})
	if err == nil {
		err = s.MultiGet(TablePayloads, keys, func(i int, value []byte) error {
			jobs[at[order[i].ID]].Payload = bytes.Clone(value)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("read the jobs of a poll: %w", err)
	}
	return jobs, nil
}

// wakeAt requests a Flush at a time, Unix ms; 0: at none.
func (s *Shard) wakeAt(at int64) {
	if at > 0 && at < s.due.Load() {
		s.due.Store(at)
		select {
		case s.next <- struct{}{}:
		default:
		}
	}
}
