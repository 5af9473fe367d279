package logthrottle

import (
	"sync"
	"time"
)

// Kind is the kind of an event.
type Kind int

// The kinds of events.
const (
	None     Kind = iota // nothing to log
	Begin                // an outage has begun
	Continue             // the outage continues
	End                  // the outage is over
)

// Event describes an outage at the time of a failure or success.
type Event struct {
	Kind     Kind
	For      time.Duration // since the first failure of the outage
	Failures int           // of the outage
}

const (
	beginAfter    = 2 * time.Second  // failures that end earlier do not count as an outage
	beginInterval = 10 * time.Second // between the begins of two outages
	logInterval   = time.Minute      // between two lines of one outage
	forgetAfter   = 3 * time.Minute  // a failure this long after the previous one starts a new outage
)

// Tracker tracks the outages of one dependency, such as the requests to a region. Its zero value is
// ready to use. It may be used by several goroutines at once.
type Tracker struct {
	mu          sync.Mutex
	first, last time.Time // failures of this outage; zero without one
	failures    int
	logged      time.Time // last event of this outage; zero before Begin
	begun       time.Time // last Begin of any outage
}

// Failure records a failure.
func (t *Tracker) Failure(now time.Time) Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first.IsZero() || now.Sub(t.last) > forgetAfter {
		t.first, t.failures, t.logged = now, 0, time.Time{}
	}
	t.last = now
	t.failures++
	e := Event{For: now.Sub(t.first).Round(time.Millisecond), Failures: t.failures}
	switch {
	case t.logged.IsZero() && e.For >= beginAfter && now.Sub(t.begun) >= beginInterval:
		e.Kind, t.logged, t.begun = Begin, now, now
	case !t.logged.IsZero() && now.Sub(t.logged) >= logInterval:
		e.Kind, t.logged = Continue, now
	}
	return e
}

// Success records a success, which ends the outage.
func (t *Tracker) Success(now time.Time) (e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.logged.IsZero() {
		e = Event{End, now.Sub(t.first).Round(time.Millisecond), t.failures}
	}
	t.first, t.logged, t.failures = time.Time{}, time.Time{}, 0
	return e
}
