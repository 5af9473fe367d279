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

// Signals returns the signals at a time. Without Watch it returns none. It changes nothing: rates
// are those of the last Sample.
func (q *Queue) Signals(nowMs int64) Signals {
	m := q.monitor
	if m == nil {
		return Signals{}
	}
	classes := m.sorted()
	return Signals{Classes: q.classSignals(classes, q.at(nowMs)), Alarms: m.active(classes)}
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

// classSignals returns the signals of classes.
func (q *Queue) classSignals(classes []*class, now int64) []ClassSignals {
	oldest, means := q.oldest(), q.means(classes)
	list := make([]ClassSignals, len(classes))
	for i, c := range classes {
		s := &list[i]
		*s = ClassSignals{
			Require: slices.Clone(c.require), Pending: c.pending, Running: c.running, Arrivals: c.rate.perSecond(),
			Trend: c.trend.perSecond(), Starts: c.starts.perSecond(), Done: c.done.perSecond(), Failed: c.failed.perSecond(),
			MeanMs: means[i],
		}
		if c.pending > 0 {
			s.OldestMs = max(0, now-oldest[c])
		}
		s.Agents, s.Slots = q.serving(c)
		s.Want = s.Load(q.cfg.WaitTarget, q.cfg.MaxPendingWait).Slots()
	}
	return list
}

// means returns the mean duration of an attempt of each class, in ms: that of the last attempts, or
// else the mean run time that its signatures have from before a restart; 0 if it is not known.
func (q *Queue) means(classes []*class) []float64 {
	list, unknown := make([]float64, len(classes)), map[*class]int{}
	for i, c := range classes {
		if list[i] = c.mean; c.mean == 0 {
			unknown[c] = i
		}
	}
	if len(unknown) == 0 {
		return list
	}
	known := make([]float64, len(classes)) // signatures with a mean
	for sig, c := range q.monitor.bySig {
		if i, ok := unknown[c]; ok && q.sigs.means[sig] > 0 {
			known[i]++
			list[i] += (float64(q.sigs.means[sig]) - list[i]) / known[i]
		}
	}
	return list
}

// serving returns the number of the agents that are up and have the resources of a class, and of
// their slots: 0 if one of them has no limit.
func (q *Queue) serving(c *class) (agents, slots int) {
	limited := true
	for _, a := range q.agents {
		if a != nil && a.serves(c) {
			agents++
			slots += a.slots
			limited = limited && a.slots > 0
		}
	}
	if !limited {
		slots = 0
	}
	return agents, slots
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
