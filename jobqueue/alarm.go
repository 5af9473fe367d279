package jobqueue

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// AlarmKind is the kind of an Alarm.
type AlarmKind uint8

// The kinds of alarms.
const (
	OutageAlarm   AlarmKind = iota // attempts fail far more often than usual
	LateAlarm                      // jobs wait longer than Config.WaitTarget, although agents could run them
	UnservedAlarm                  // jobs wait, and no agent that is up has the resources that they require
)

// String returns the name of k in lower case.
func (k AlarmKind) String() string {
	return [...]string{"outage", "late", "unserved"}[min(k, UnservedAlarm)]
}

// Alarm is what a person, or an automatic system, has to look at.
type Alarm struct {
	Kind    AlarmKind
	Active  bool     // false: it is over
	Subject string   // what it is about, such as "resource gpu"
	Text    string   // in a sentence
	SinceMs int64    // when it was raised, Unix ms
	AtMs    int64    // of this news, Unix ms
	Factors []Factor // of an outage, best explanation first
	Require []string // of the other kinds: the resources that the jobs require
	Slots   int      // of LateAlarm: slots of the agents, 0 if one has no limit
	Want    int      // of LateAlarm: slots that keep the target, see ClassSignals
}

// Alarms returns the alarms that were raised, and those that are over, since the last call.
func (q *Queue) Alarms() []Alarm {
	if q.monitor == nil || len(q.monitor.news) == 0 {
		return nil
	}
	news := q.monitor.news
	q.monitor.news = nil
	return news
}

// alarmAfter is the time after which a condition raises an alarm, or ends one, in ms.
const alarmAfter = 10_000

// Sample updates the rates, and the alarms about jobs that wait, and returns the signals. Call it
// once a second.
func (q *Queue) Sample(nowMs int64) Signals {
	m, now := q.monitor, q.at(nowMs)
	if m == nil {
		return Signals{}
	}
	m.sample(now)
	m.quiet(now)
	classes := m.sorted()
	list := q.classSignals(classes, now)
	for i, c := range classes {
		s, kind := &list[i], noAlarm
		switch {
		case s.Pending == 0 || q.paused:
		case s.Agents == 0:
			kind = UnservedAlarm
		case s.OldestMs > q.cfg.WaitTarget.Milliseconds():
			kind = LateAlarm
		}
		m.waiting(c, s, kind, now)
	}
	return Signals{Classes: list, Alarms: m.active(classes)}
}

// active returns the alarms that are not over, oldest first, and of the same age in the order of
// the classes.
func (m *monitor) active(classes []*class) (list []Alarm) {
	for _, c := range classes {
		if c.waits != nil {
			list = append(list, *c.waits)
		}
	}
	for _, o := range m.outages {
		list = append(list, o.alarm)
	}
	slices.SortStableFunc(list, func(a, b Alarm) int { return cmp.Compare(a.SinceMs, b.SinceMs) })
	return list
}

// noAlarm is the kind of a class whose jobs do not wait for too long.
const noAlarm = UnservedAlarm + 1

// waiting raises and ends the alarm of a class, when its kind has been another one for alarmAfter.
func (m *monitor) waiting(c *class, s *ClassSignals, kind AlarmKind, now int64) {
	if c.waits == nil && kind == noAlarm || c.waits != nil && c.waits.Kind == kind {
		c.since = 0
		return
	}
	if c.since == 0 {
		c.since = now
	}
	if now-c.since < alarmAfter {
		return
	}
	c.since = 0
	if c.waits != nil {
		m.over(c.waits, now)
		c.waits = nil
	}
	if kind == noAlarm {
		return
	}
	what := "jobs without requirements"
	if len(s.Require) > 0 {
		what = "jobs that require " + strings.Join(s.Require, " ")
	}
	c.waits = &Alarm{
		Kind: kind, Active: true, Subject: what, SinceMs: now, AtMs: now, Require: slices.Clone(s.Require), Slots: s.Slots, Want: s.Want,
	}
	if kind == UnservedAlarm {
		c.waits.Text = fmt.Sprintf("%d %s wait, and no agent that is up has these resources", s.Pending, what)
	} else {
		c.waits.Text = fmt.Sprintf("%d %s wait, the oldest for %d s: %d agents with %s slots run %d, and %d slots would keep the target",
			s.Pending, what, s.OldestMs/1000, s.Agents, limit(s.Slots), s.Running, s.Want)
	}
	m.news = append(m.news, *c.waits)
}

// limit returns a number of slots as text.
func limit(slots int) string {
	if slots == 0 {
		return "unlimited"
	}
	return strconv.Itoa(slots)
}
