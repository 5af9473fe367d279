package queues

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
)

// queue is a queue of a shard.
type queue struct {
	name     string
	settings *eventspb.JobQueueSettings
	core     *jobqueue.Queue
	parked   []*Poll               // that wait for a job, oldest first
	work     bool                  // since they were tried last, there may be a job for one of them
	seen     map[string]int64      // by agent that is up: when it asked last, Unix ms
	looked   int64                 // when agents that do not ask were looked for
	cleaned  int64                 // when old refusals were looked for
	closed   []jobqueue.ID         // first numbers of closed segments with rows of jobs
	ended    map[jobqueue.ID]int64 // by first number of a segment: when its last job ended, Unix ms

	// Of the open transaction.
	set       bool // the settings
	submitted []submission
	results   map[jobqueue.ID]*eventspb.JobResult
	refusals  map[jobqueue.ID]*eventspb.JobRefusal
}

// submission is a job of the open transaction.
type submission struct {
	id      jobqueue.ID
	job     *eventspb.StoredJob
	payload []byte
}

func newQueue(name string, settings *eventspb.JobQueueSettings) *queue {
	return &queue{
		name: name, settings: settings, seen: map[string]int64{}, ended: map[jobqueue.ID]int64{},
		results: map[jobqueue.ID]*eventspb.JobResult{}, refusals: map[jobqueue.ID]*eventspb.JobRefusal{},
	}
}

// see remembers that an agent has asked.
func (q *queue) see(agent string, now int64) {
	if _, up := q.seen[agent]; up {
		q.seen[agent] = now
	}
}

// live returns the number of jobs that have not ended.
func (q *queue) live() uint64 {
	n := q.core.Counts()
	return n[jobqueue.Delayed] + n[jobqueue.Blocked] + n[jobqueue.Pending] + n[jobqueue.Running]
}
