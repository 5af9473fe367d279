package jobqueue

import (
	"maps"
	"slices"
	"time"
)

// Signals are the rates of a queue, and how many agents it needs.
type Signals struct {
	Classes []ClassSignals // ascending by required resources
	Alarms  []Alarm        // that are not over, oldest first
}

// ClassSignals are the signals of the jobs that require the same resources. Rates are per second,
// averaged over a minute.
type ClassSignals struct {
	Require  []string
	Pending  int
	Running  int
	Arrivals float64 // jobs that become pending, also for a retry
	Trend    float64 // the same, averaged over ten minutes
	Starts   float64
	Done     float64
	Failed   float64 // attempts
	MeanMs   float64 // duration of an attempt, averaged over ten minutes; 0: not known yet
	OldestMs int64   // wait of the oldest job that is the first of its signature
	Agents   int     // that are up and have the resources
	Slots    int     // of these agents; 0: one of them has no limit
	// Want is how many slots keep Config.WaitTarget at the present load, with a backlog that is
	// gone after Config.MaxPendingWait: the advice for a scaler. While the duration of an attempt
	// is not known, it is 1 if there are jobs. An agent that has the resources of several classes
	// is in each of them.
	Want int
}

// Signals returns the signals at a time. Without Watch it returns none.
func (q *Queue) Signals(nowMs int64) (s Signals) {
	m := q.monitor
	if m == nil {
		return s
	}
	oldest := q.oldest()
	for _, c := range m.sorted() {
		s.Classes = append(s.Classes, q.classSignals(c, oldest[c], q.at(nowMs)))
		if c.late != nil {
			s.Alarms = append(s.Alarms, *c.late)
		}
	}
	for _, o := range m.outages {
		s.Alarms = append(s.Alarms, o.alarm)
	}
	slices.SortStableFunc(s.Alarms, func(a, b Alarm) int { return int(a.SinceMs - b.SinceMs) })
	return s
}

// WaitTargets returns Config.WaitTarget, and the time in which a backlog is to be gone.
func (q *Queue) WaitTargets() (target, drain time.Duration) {
	return q.cfg.WaitTarget, q.cfg.MaxPendingWait
}

// sorted returns the classes, ascending by required resources.
func (m *monitor) sorted() []*class {
	return slices.SortedFunc(maps.Values(m.classes), func(a, b *class) int { return slices.Compare(a.require, b.require) })
}

// oldest returns since when the oldest head of each class is pending, Unix ms.
func (q *Queue) oldest() map[*class]int64 {
	all := map[*class]int64{}
	for _, l := range q.levels {
		if l == nil {
			continue
		}
		l.nonempty.each(func(sig uint32) {
			c := q.monitor.class(q, sig)
			if at, ok := all[c]; !ok || l.since[sig] < at {
				all[c] = l.since[sig]
			}
		})
	}
	return all
}

// classSignals returns the signals of a class. oldest is when its oldest head became pending.
func (q *Queue) classSignals(c *class, oldest, now int64) ClassSignals {
	s := ClassSignals{
		Require: slices.Clone(c.require), Pending: c.pending, Running: c.running, Arrivals: c.rate.perSecond(), Trend: c.trend.perSecond(),
		Starts: c.starts.perSecond(), Done: c.done.perSecond(), Failed: c.failed.perSecond(), MeanMs: q.meanMs(c),
	}
	if c.pending > 0 {
		s.OldestMs = max(0, now-oldest)
	}
	limited := true
	for _, a := range q.agents {
		if a == nil || !a.serves(c) {
			continue
		}
		s.Agents++
		s.Slots += a.slots
		limited = limited && a.slots > 0
	}
	if !limited {
		s.Slots = 0
	}
	s.Want = s.Load(q.cfg.WaitTarget, q.cfg.MaxPendingWait).Slots()
	return s
}

// serves reports whether the agent has the resources that a class requires.
func (a *agent) serves(c *class) bool {
	return !slices.ContainsFunc(c.resources, func(r uint32) bool { return !a.has.has(r) })
}

// Load returns the load of the class. Of the rates of arrivals it takes the greater one, without
// the jobs that are in the backlog: a burst is not a rate.
func (s *ClassSignals) Load(target, drain time.Duration) Load {
	backlog := float64(s.Pending)
	return Load{
		Arrivals: max(0, s.Arrivals-backlog/60, s.Trend-backlog/600), Mean: s.MeanMs / 1000, Target: target.Seconds(), Backlog: backlog,
		Drain: drain.Seconds(), Running: s.Running,
	}
}
