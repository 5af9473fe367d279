package queues

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
)

// Shown is what a shard shows to readers on other goroutines: its queues as of the last transaction
// that has committed.
type Shown struct {
	partition int32
	queues    map[string]*shownQueue
}

// shownQueue is a queue for readers.
type shownQueue struct {
	states *jobqueue.States
	now    atomic.Pointer[Queue]
}

// Queue is a queue of a shard.
type Queue struct {
	Name     string
	Settings *eventspb.JobQueueSettings
	Paused   bool
	Jobs     [8]uint64 // by jobqueue.State
	Agents   int       // that are up
	// As of the last second:
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

// Queues returns the queues, ascending by name.
func (v *Shown) Queues() (list []*Queue) {
	for _, q := range v.queues {
		list = append(list, q.now.Load())
	}
	slices.SortFunc(list, func(a, b *Queue) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// show shows the queues after a transaction has committed.
func (s *Shard) show() {
	shown := s.shown.Load()
	if shown == nil || len(shown.queues) != len(s.sorted) {
		shown = &Shown{partition: s.Partition, queues: map[string]*shownQueue{}}
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
	x := Queue{Name: q.name, Settings: q.settings, Paused: q.core.Paused(), Jobs: q.core.Counts(), Agents: len(q.agents)}
	for i := range q.signals.Classes {
		c := &q.signals.Classes[i]
		x.OldestMs, x.Want = max(x.OldestMs, c.OldestMs), x.Want+c.Want
	}
	for i := range q.signals.Alarms {
		x.Alarms[q.signals.Alarms[i].Kind]++
	}
	return x
}
