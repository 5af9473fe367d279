package page

import (
	"time"

	"github.com/weirhq/weir/jobqueue/jobpb"
)

// Limits of the section of job queues.
const (
	MaxQueues = 20
	maxAlarms = 20
)

// Jobs are the job queues: the first MaxQueues of them, those with alarms first.
type Jobs struct {
	Sampled

	Queues []Queue
	Hidden int     // number of further queues
	Unread []int32 // partitions that could not be read
}

// Queue is a job queue.
type Queue struct {
	*jobpb.Queue

	Signals *jobpb.GetSignalsResponse // nil: they could not be read
}

// QueueRow is a queue in the table.
type QueueRow struct {
	Name, State, Pending, Running, Arrivals, Done, Failed, Oldest, Agents, Want string
	Alarm                                                                       bool
}

// QueueAlarm is an alarm of a queue.
type QueueAlarm struct{ Queue, Since, Text string }

// QueueTable are the queues and their alarms.
type QueueTable struct {
	Rows   []QueueRow
	States bool // a queue is paused, or can be read in part
	Alarms []QueueAlarm
	More   string // number of alarms that are left out
	Hidden string // number of queues that are left out
}

// Table returns the table of queues. now is the time of the page.
func (j *Jobs) Table(now time.Time) (t QueueTable) {
	alarms := 0
	for _, q := range j.Queues {
		n := q.GetJobs()
		r := QueueRow{
			Name: q.GetName(), Pending: count(n.GetPending()), Running: count(n.GetRunning()), Agents: count(q.GetAgents()),
			Oldest: span(time.Duration(q.GetOldestMs()) * time.Millisecond), Alarm: q.GetAlarms() > 0,
		}
		switch {
		case len(q.GetUnread()) > 0:
			r.State = "incomplete"
		case q.GetPaused():
			r.State = "paused"
		}
		t.States = t.States || r.State != ""
		if q.Signals != nil {
			var arrivals, done, failed float64
			var want int32
			for _, c := range q.Signals.GetClasses() {
				arrivals, done, failed, want = arrivals+c.GetArrivals(), done+c.GetDone(), failed+c.GetFailed(), want+c.GetWant()
			}
			r.Arrivals, r.Done, r.Failed, r.Want = perSecond(arrivals), perSecond(done), perSecond(failed), count(want)
		}
		t.Rows = append(t.Rows, r)
		for _, a := range q.Signals.GetAlarms() {
			if alarms++; alarms <= maxAlarms {
				t.Alarms = append(t.Alarms, QueueAlarm{q.GetName(), clock(time.UnixMilli(a.GetSinceMs()), now), a.GetText()})
			}
		}
	}
	if alarms > maxAlarms {
		t.More = count(alarms - maxAlarms)
	}
	if j.Hidden > 0 {
		t.Hidden = count(j.Hidden)
	}
	return t
}

// Read returns the time of day at which the queues were read.
func (j *Jobs) Read() string { return j.At.UTC().Format(time.TimeOnly) }
