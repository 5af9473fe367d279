package queues

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
)

// Shown is what a shard shows to readers on other goroutines: its queues as of the last transaction
// that has committed.
type Shown struct {
	partition int32
	queues    map[string]*shownQueue
	*commits
}

// commits are the transactions of a shard, for readers.
type commits struct {
	applied atomic.Int64 // offset of jobs.submits up to which records are applied

	mu    sync.Mutex
	next  chan struct{} // closed at the next commit; nil: no reader waits
	ended bool          // there is no further commit, and next is closed
}

// Changed returns a channel that is closed at the next commit, and after the end of the shard. A
// reader that waits gets it before it reads the states.
func (c *commits) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// notify lets the readers that wait look again, after a commit.
func (c *commits) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil && !c.ended {
		close(c.next)
		c.next = nil
	}
}

// end lets the readers that wait, and those to come, look again: the shard has ended.
func (c *commits) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	if !c.ended {
		c.ended = true
		close(c.next)
	}
}

// Applied returns the number up to which submissions are applied: a job with a lower number and
// without a state is refused, or does not exist. A reader gets it before it reads the states.
func (c *commits) Applied() jobqueue.ID { return jobqueue.ID(c.applied.Load()) }

// shownQueue is a queue for readers.
type shownQueue struct {
	states   *jobqueue.States
	now      atomic.Pointer[Queue] // as of the last transaction that has committed; Watched is empty
	watched  atomic.Pointer[Watched]
	progress progressTable
}

// Queue is a queue of a shard.
type Queue struct {
	Name     string
	Settings *eventspb.JobQueueSettings
	Paused   bool
	Jobs     [8]uint64 // by jobqueue.State
	Agents   int       // that are up
	Watched
}

// Watched is what the monitor of a queue has seen as of the last second, whether it has committed
// or not: a queue in which jobs only wait has no transactions.
type Watched struct {
	OldestMs int64  // longest wait of a job that is the first of its signature
	Want     int    // slots that keep the target of the wait, a sum over the classes
	Alarms   [3]int // that are not over, by jobqueue.AlarmKind
}

// Shown returns what the shard shows. Any goroutine may call it.
func (s *Shard) Shown() *Shown { return s.shown.Load() }

// Partition returns the partition of the shard.
func (v *Shown) Partition() int32 { return v.partition }

// States returns the states of the jobs of a queue. The error wraps ErrQueue.
func (v *Shown) States(name string) (*jobqueue.States, error) {
	if q := v.queues[name]; q != nil {
		return q.states, nil
	}
	return nil, fmt.Errorf("queue %q: %w in partition %d", name, ErrQueue, v.partition)
}

// Progress returns the progress of an attempt, empty if none is known.
func (v *Shown) Progress(name string, id jobqueue.ID, attempt uint8) string {
	if q := v.queues[name]; q != nil {
		return q.progress.get(id, attempt)
	}
	return ""
}

// Queues returns the queues, ascending by name.
func (v *Shown) Queues() (list []*Queue) {
	for _, q := range v.queues {
		x := *q.now.Load()
		if w := q.watched.Load(); w != nil {
			x.Watched = *w
		}
		list = append(list, &x)
	}
	slices.SortFunc(list, func(a, b *Queue) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// show shows the queues after a transaction has committed.
func (s *Shard) show() {
	defer s.commits.notify()
	defer s.commits.applied.Store(s.applied) // after the states
	shown := s.shown.Load()
	if shown == nil || len(shown.queues) != len(s.sorted) {
		shown = &Shown{partition: s.Partition, queues: map[string]*shownQueue{}, commits: &s.commits}
		for _, q := range s.sorted {
			shown.queues[q.name] = &q.shown
		}
		defer s.shown.Store(shown)
	}
	for _, q := range s.sorted {
		q.shown.states.Take(q.changes)
		q.changes = jobqueue.Changes{}
		if now, was := q.summary(), q.shown.now.Load(); was == nil || now != *was {
			q.shown.now.Store(&now)
		}
	}
}

// summary returns the queue as it is now.
func (q *queue) summary() Queue {
	return Queue{Name: q.name, Settings: q.settings, Paused: q.core.Paused(), Jobs: q.core.Counts(), Agents: len(q.agents)}
}

// watch shows the signals of a sample.
func (q *queue) watch(s *jobqueue.Signals) {
	w := &Watched{}
	for i := range s.Classes {
		c := &s.Classes[i]
		w.OldestMs, w.Want = max(w.OldestMs, c.OldestMs), w.Want+c.Want
	}
	for i := range s.Alarms {
		w.Alarms[s.Alarms[i].Kind]++
	}
	q.shown.watched.Store(w)
}
