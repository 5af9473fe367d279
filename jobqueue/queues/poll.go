package queues

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
)

// MaxPollJobs is the maximum number of jobs of a poll.
const MaxPollJobs = 1000

// minParked is the number of parked polls from which those without a waiting caller are dropped.
const minParked = 64

// Ticket is what the polls of one request have in common: an agent polls the partitions of a queue
// at the same time, and gets jobs from one of them. The zero value is ready to use.
type Ticket struct {
	mu  sync.Mutex
	won *Poll // has jobs, or had them when its partition moved
}

// Poll is the request of an agent for jobs of one partition. It is parked until there is one, and
// answered when the start of its jobs has committed.
type Poll struct {
	Number  uint64 // by which EndPoll names it
	Queue   string
	Profile jobqueue.Profile // of the agent: it replaces the one that the agent had
	jobqueue.Poll

	answer  chan Answer
	retryMs int64 // when waiting alone may give it a job; 0: never

	ticket  *Ticket // its mutex guards the fields below
	started []jobqueue.Decision
	over    bool // it is answered or abandoned
}

// NewPoll returns a poll with a ticket, and the channel of its answer. The channel is closed
// without an answer if the partition moves: poll its next owner.
func NewPoll(t *Ticket, queue string, profile jobqueue.Profile, p jobqueue.Poll) (poll *Poll, answer <-chan Answer) {
	poll = &Poll{Queue: queue, Profile: profile, Poll: p, answer: make(chan Answer, 1), ticket: t}
	return poll, poll.answer
}

// Abandon ends the wait of the caller, from any goroutine. If it returns false, there is an answer,
// or jobs were started for the poll and the answer comes when that has committed. If it returns
// true, no job is started for the poll, and it gets no answer.
func (p *Poll) Abandon() bool {
	p.ticket.mu.Lock()
	defer p.ticket.mu.Unlock()
	if p.over || len(p.started) > 0 {
		return false
	}
	p.over = true
	return true
}

// reply answers the poll, unless it is abandoned.
func (p *Poll) reply(a Answer) {
	if p.close() {
		p.answer <- a
	}
}

// end closes the channel of the answer, unless the poll is abandoned.
func (p *Poll) end() {
	if p.close() {
		close(p.answer)
	}
}

// close reports whether the caller waits, and ends that.
func (p *Poll) close() bool {
	p.ticket.mu.Lock()
	defer p.ticket.mu.Unlock()
	waits := !p.over
	p.over = true
	return waits
}

// waits reports whether the caller of the poll waits for jobs of this partition.
func (p *Poll) waits() bool {
	p.ticket.mu.Lock()
	defer p.ticket.mu.Unlock()
	return !p.over && (p.ticket.won == nil || p.ticket.won == p)
}

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
	a, err := q.declare(p, now)
	if err != nil {
		return err
	}
	if a.poll != nil {
		a.poll.reply(Answer{Err: ErrPolled})
	}
	if a.poll = p; len(q.parked) > 2*len(q.agents)+minParked {
		q.parked = slices.DeleteFunc(q.parked, func(p *Poll) bool { return !p.waits() })
	}
	if err := s.try(q, p, now); err != nil {
		return err
	}
	if len(p.started) == 0 {
		q.parked = append(q.parked, p)
		s.wakeAt(p.retryMs)
	}
	return nil
}

// declare declares the agent of a poll, unless it is up with the same profile.
func (q *queue) declare(p *Poll, now int64) (*agent, error) {
	a := q.agents[p.Agent]
	if a != nil && a.has != nil && a.slots == p.Profile.Slots && slices.Equal(a.has, p.Profile.Has) {
		a.asked = now
		return a, nil
	}
	if was, up := q.core.Profile(p.Agent); !up || !equal(&was, &p.Profile) {
		if _, err := q.core.Declare(now, p.Agent, &p.Profile); err != nil {
			return nil, err
		}
		q.work = true
	}
	if a == nil {
		a = &agent{}
		q.agents[p.Agent] = a
	}
	a.asked, a.has, a.slots = now, append([]string{}, p.Profile.Has...), p.Profile.Slots
	return a, nil
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

// EndPoll answers the poll with a number that an agent has in this partition, unless jobs were
// started for it. The agent has got jobs of another partition.
func (s *Shard) EndPoll(name, agent string, number uint64) error {
	q, err := s.queue(name)
	if err != nil {
		return err
	}
	if a := q.agents[agent]; a != nil && a.poll != nil && a.poll.Number == number {
		a.poll.reply(Answer{})
		a.poll = nil
	}
	return nil
}

// try starts jobs for a poll, unless it is abandoned or another poll with its ticket has got jobs.
// If there are some, the agent gets them when the transaction has committed.
func (s *Shard) try(q *queue, p *Poll, now int64) (err error) {
	p.ticket.mu.Lock() // shared with other shards: two of them do not start jobs for one ticket
	defer p.ticket.mu.Unlock()
	if p.over || p.ticket.won != nil {
		return nil
	}
	if p.started, p.retryMs, err = q.core.Poll(nil, now, &p.Poll); err != nil && len(p.started) == 0 {
		return err
	}
	a := q.agents[p.Agent]
	if a.freed = false; len(p.started) > 0 {
		a.poll, p.ticket.won = nil, p
		s.picked = append(s.picked, p)
		s.Wake()
	}
	return nil
}

// serve tries the parked polls that may get a job now, oldest first, and returns when waiting alone
// may give one a job.
func (s *Shard) serve(q *queue, now int64) (due int64) {
	due = now + maxQuiet.Milliseconds()
	arrivals := q.arrivals()
	all := q.work || arrivals != q.arrived
	rest := q.parked[:0]
	for _, p := range q.parked {
		a := q.agents[p.Agent]
		switch {
		case !p.waits():
			continue
		case a == nil: // it is down: it polls again
			p.end()
			continue
		case q.core.Counts()[jobqueue.Pending] == 0:
			p.retryMs = 0
		case all || a.freed || p.retryMs > 0 && p.retryMs <= now:
			if err := s.try(q, p, now); err != nil {
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
	q.parked, q.work, q.arrived = rest, false, arrivals
	return due
}

// read reads the jobs of a poll whose transaction has committed.
func (s *Shard) read(p *Poll) ([]Job, error) {
	var keys [][]byte
	var order []jobqueue.Decision // of jobs that have to be read
	at := map[jobqueue.ID]int{}
	jobs := make([]Job, len(p.started))
	for i := range p.started {
		d := &p.started[i]
		jobs[i] = Job{ID: d.ID, Attempt: d.Attempt, UntilMs: d.Until, LeaseMs: d.Until - d.At, StoredJob: &eventspb.StoredJob{}}
		if x, ok := s.recent.take(d.ID); ok {
			jobs[i].StoredJob, jobs[i].Payload = x.job, x.payload
			continue
		}
		order, at[d.ID] = append(order, *d), i
	}
	slices.SortFunc(order, func(a, b jobqueue.Decision) int { return cmp.Compare(a.ID, b.ID) })
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
		case s.dues <- struct{}{}:
		default:
		}
	}
}
