package jobqueue

import (
	"math"
	"strings"
)

// monitor watches a queue as its decisions are applied. It changes nothing of the queue, and is not
// part of a snapshot: after a restart it begins again.
type monitor struct {
	classes map[string]*class // by required resources
	bySig   []*class          // by signature; nil: not known yet
	sampled int64             // time of the last sample, Unix ms; 0: none
	ended   []recentAttempt   // a ring of the attempts that ended last
	n       uint64            // attempts that have ended
	tracks  map[factor]*track
	outages []*outage // not over, oldest first
	news    []Alarm   // since the last Alarms
}

// class are the jobs that require the same resources: the agents that can run one can run all.
type class struct {
	require    []string
	resources  []uint32 // the same
	signatures int
	mean       float64 // ms, of the last attempts; 0: not known
	pending    int
	running    int
	counted    flow
	rate       average // of arrivals, in the last minute
	trend      average // of arrivals, in the last ten minutes
	starts     average
	done       average
	failed     average
	busy       decayed // ms of attempts that ended, in the last ten minutes
	ends       decayed // attempts that ended, in the last ten minutes
	waits      *Alarm  // late or unserved; nil: none
	since      int64   // since when an alarm could be raised, or be over, Unix ms; 0: it is as it should be
}

// flow are numbers of events since the last sample.
type flow struct {
	arrived, started, done, failed, ended int
	busy                                  int64 // ms
}

// Watch begins to watch the queue: for Signals and Alarms. It costs less than a microsecond for
// each attempt.
func (q *Queue) Watch() {
	m := &monitor{classes: map[string]*class{}, tracks: map[factor]*track{}}
	q.monitor = m
	for _, l := range q.levels {
		if l != nil {
			l.nonempty.each(func(sig uint32) { m.class(q, sig).pending += l.sets[sig].n })
		}
	}
	for id := range q.runs {
		sig, _ := q.class(id)
		m.class(q, sig).running++
	}
}

// class returns the class of a signature.
func (m *monitor) class(q *Queue, sig uint32) *class {
	for len(m.bySig) <= int(sig) {
		m.bySig = append(m.bySig, nil)
	}
	if c := m.bySig[sig]; c != nil {
		return c
	}
	require := q.sigs.namesOf(q.sigs.rows[sig].require)
	key := strings.Join(require, "\x00")
	c := m.classes[key]
	if c == nil {
		c = &class{require: require, resources: q.sigs.rows[sig].require, rate: newAverage(minute), trend: newAverage(10 * minute)}
		c.starts, c.done, c.failed = newAverage(minute), newAverage(minute), newAverage(minute)
		m.classes[key] = c
	}
	m.bySig[sig] = c
	c.signatures++
	return c
}

// forget forgets a signature, whose number will be used again.
func (m *monitor) forget(sig uint32) {
	if m != nil && int(sig) < len(m.bySig) && m.bySig[sig] != nil {
		m.bySig[sig].signatures--
		m.bySig[sig] = nil
	}
}

// enqueued counts a job that has become Pending.
func (m *monitor) enqueued(q *Queue, sig uint32) {
	if m != nil {
		c := m.class(q, sig)
		c.pending++
		c.counted.arrived++
	}
}

// dequeued counts a job that is not Pending any more.
func (m *monitor) dequeued(q *Queue, sig uint32) {
	if m != nil {
		m.class(q, sig).pending--
	}
}

// started counts an attempt that has begun.
func (m *monitor) started(q *Queue, sig uint32) {
	if m != nil {
		c := m.class(q, sig)
		c.running++
		c.counted.started++
	}
}

// stopped counts an attempt that has ended. Whether there is an outage depends on what agents
// report of first tries: the failures of a job that is tried again and again are one failure, and
// when an agent is lost, its jobs have not failed.
func (m *monitor) stopped(q *Queue, r run, d *Decision) {
	if m == nil {
		return
	}
	sig, _ := q.class(d.ID)
	c := m.class(q, sig)
	c.running--
	failed := d.Kind == Retried || d.Kind == Exhausted
	if failed {
		c.counted.failed++
	}
	if d.Kind != Completed && (!failed || d.Reason != Reported) {
		return
	}
	c.counted.ended++
	c.counted.busy += max(0, q.now-r.started)
	if !failed {
		c.counted.done++
	}
	row, a := &q.sigs.rows[sig], q.agents[r.agent]
	x := recentAttempt{row.key, row.require, row.prefer, a.name, a.list, failed}
	if r.attempt == q.spared[d.ID]+1 {
		m.judge(q, x)
	} else if failed {
		m.seen(&x, q.now)
	}
}

// Periods of averages, in ms.
const minute = 60_000

// average is an exponentially weighted moving average of a rate per second. It begins at 0, so that
// a burst at the begin does not count as a high rate.
type average struct {
	period float64 // ms
	sum    float64 // of events, decayed
}

func newAverage(periodMs float64) average { return average{period: periodMs} }

// add adds n events of a time of ms.
func (a *average) add(n int, ms float64) {
	keep := math.Exp(-ms / a.period)
	a.sum = a.sum*keep + float64(n)*(1-keep)/(ms/a.period)
}

// perSecond returns the rate.
func (a *average) perSecond() float64 { return a.sum / a.period * 1000 }

// decayed is a sum that decays: an event counts 1/e after ten minutes.
type decayed float64

func (d *decayed) add(n, ms float64) { *d = decayed(float64(*d)*math.Exp(-ms/(10*minute)) + n) }

// sample updates the rates. A class without jobs and without events is forgotten.
func (m *monitor) sample(now int64) {
	ms := float64(now - m.sampled)
	if m.sampled == 0 { // what came before is of an unknown time
		m.sampled = now
		for _, c := range m.classes {
			c.counted = flow{}
		}
	}
	if m.sampled == now || ms <= 0 {
		return
	}
	m.sampled = now
	for key, c := range m.classes {
		n := c.counted
		c.counted = flow{}
		c.rate.add(n.arrived, ms)
		c.trend.add(n.arrived, ms)
		c.starts.add(n.started, ms)
		c.done.add(n.done, ms)
		c.failed.add(n.failed, ms)
		c.busy.add(float64(n.busy), ms)
		if c.ends.add(float64(n.ended), ms); n.ended > 0 {
			c.mean = max(1, float64(c.busy/c.ends))
		}
		if c.signatures == 0 && c.waits == nil && c.trend.perSecond() < 1e-6 {
			delete(m.classes, key)
		}
	}
}
