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
	shown    shownQueue
	agents   map[string]*agent     // that are up
	parked   []*Poll               // that wait for a job, oldest first
	work     bool                  // since they were tried last, agents or settings have changed
	arrived  uint64                // jobs that had become pending when they were tried last
	looked   int64                 // when agents that do not ask were looked for
	sampled  int64                 // when rates were updated, Unix ms
	moved    []*eventspb.JobAlarm  // alarms of the owner before, which were not over
	refused  bool                  // there may be rows of refusals
	cleaned  int64                 // when old ones were looked for
	closed   []jobqueue.ID         // first numbers of closed segments with rows of jobs
	ended    map[jobqueue.ID]int64 // by first number of a segment: when its last job ended, Unix ms

	events bool // decisions are recorded, since the begin of the open transaction

	// Of the open transaction.
	set       bool // the settings
	changes   jobqueue.Changes
	submitted []submission
	results   map[jobqueue.ID]*eventspb.JobResult
	refusals  map[jobqueue.ID]*eventspb.JobRefusal
}

// agent is an agent that is up.
type agent struct {
	asked int64    // when it asked last, Unix ms
	has   []string // as it declared them last; nil after a restart
	slots int
	poll  *Poll // its last one, unless it got jobs
	freed bool  // since its poll was tried last, one of its jobs has ended
}

// submission is a job of the open transaction.
type submission struct {
	id      jobqueue.ID
	job     *eventspb.StoredJob
	payload []byte
}

func newQueue(name string, settings *eventspb.JobQueueSettings) *queue {
	return &queue{
		name: name, settings: settings, agents: map[string]*agent{}, refused: true, ended: map[jobqueue.ID]int64{},
		results: map[jobqueue.ID]*eventspb.JobResult{}, refusals: map[jobqueue.ID]*eventspb.JobRefusal{},
	}
}

// begin is called when the core has been made.
func (q *queue) begin() {
	q.core.Track()
	q.core.Watch()
	q.journal(q.settings.GetEvents())
	q.shown.states = q.core.States()
}

// journal begins or ends the recording of decisions.
func (q *queue) journal(on bool) {
	q.events = on
	q.core.Journal(on)
}

// see remembers that an agent has asked.
func (q *queue) see(agent string, now int64) {
	if a := q.agents[agent]; a != nil {
		a.asked = now
	}
}

// free remembers that a job of an agent has ended: it may have a free slot.
func (q *queue) free(agent string) {
	if a := q.agents[agent]; a != nil {
		a.freed = true
	}
}

// arrivals returns how many jobs have become pending.
func (q *queue) arrivals() (n uint64) {
	for _, to := range q.core.Flows() {
		n += to[jobqueue.Pending]
	}
	return n
}

// live returns the number of jobs that have not ended.
func (q *queue) live() uint64 {
	n := q.core.Counts()
	return n[jobqueue.Delayed] + n[jobqueue.Blocked] + n[jobqueue.Pending] + n[jobqueue.Running]
}
