package outage

import (
	"sync"
	"time"
)

// Phase is what to say of an outage now.
type Phase int

// What there is to say.
const (
	None      Phase = iota
	Started         // it has lasted for a moment
	Continues       // it was said that it began, a while ago
	Ended           // what failed goes well again
)

// Event is what to say, with how long it has lasted and by how many failures.
type Event struct {
	Phase    Phase
	For      time.Duration
	Failures int
}

const (
	minDuration    = 2 * time.Second  // a failure that is made good sooner is none
	minGap         = 10 * time.Second // two outages that are said to begin
	repeatInterval = time.Minute      // that it goes on
	idleReset      = 3 * time.Minute  // without a failure or a success: what comes then is another outage
)

// Tracker keeps account of one thing that may fail, such as the requests to a region. The zero value is ready; it is safe for use by
// many goroutines.
type Tracker struct {
	mu          sync.Mutex
	begun, last time.Time // of the failures; zero while nothing fails
	failures    int
	lastLogged  time.Time // the last line of this outage; zero: none yet
	lastStart   time.Time // when the last outage that was told of began to be
}

// Failure takes note of a failure.
func (l *Tracker) Failure(now time.Time) Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun.IsZero() || now.Sub(l.last) > idleReset {
		l.begun, l.failures, l.lastLogged = now, 0, time.Time{}
	}
	l.last = now
	l.failures++
	n := Event{For: now.Sub(l.begun).Round(time.Millisecond), Failures: l.failures}
	switch {
	case l.lastLogged.IsZero() && n.For >= minDuration && now.Sub(l.lastStart) >= minGap:
		n.Phase, l.lastLogged, l.lastStart = Started, now, now
	case !l.lastLogged.IsZero() && now.Sub(l.lastLogged) >= repeatInterval:
		n.Phase, l.lastLogged = Continues, now
	}
	return n
}

// Success takes note that what failed goes well.
func (l *Tracker) Success(now time.Time) (n Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.lastLogged.IsZero() {
		n = Event{Ended, now.Sub(l.begun).Round(time.Millisecond), l.failures}
	}
	l.begun, l.lastLogged, l.failures = time.Time{}, time.Time{}, 0
	return n
}
