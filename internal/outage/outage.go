package outage

import (
	"sync"
	"time"
)

// Say is what to say of an outage now.
type Say int

// What there is to say.
const (
	Nothing Say = iota
	Begins      // it has lasted for a moment
	GoesOn      // it was said that it began, a while ago
	Over        // what failed goes well again
)

// Note is what to say, with how long it has lasted and by how many failures.
type Note struct {
	Say      Say
	For      time.Duration
	Failures int
}

const (
	patience = 2 * time.Second  // a failure that is made good sooner is none
	between  = 10 * time.Second // two outages that are said to begin
	every    = time.Minute      // that it goes on
	stale    = 3 * time.Minute  // without a failure or a success: what comes then is another outage
)

// Log keeps account of one thing that may fail, such as the requests to a region. The zero value is ready; it is safe for use by
// many goroutines.
type Log struct {
	mu          sync.Mutex
	begun, last time.Time // of the failures; zero while nothing fails
	failures    int
	said        time.Time // the last line of this outage; zero: none yet
	before      time.Time // when the last outage that was told of began to be
}

// Failed takes note of a failure.
func (l *Log) Failed(now time.Time) Note {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun.IsZero() || now.Sub(l.last) > stale {
		l.begun, l.failures, l.said = now, 0, time.Time{}
	}
	l.last = now
	l.failures++
	n := Note{For: now.Sub(l.begun).Round(time.Millisecond), Failures: l.failures}
	switch {
	case l.said.IsZero() && n.For >= patience && now.Sub(l.before) >= between:
		n.Say, l.said, l.before = Begins, now, now
	case !l.said.IsZero() && now.Sub(l.said) >= every:
		n.Say, l.said = GoesOn, now
	}
	return n
}

// Fine takes note that what failed goes well.
func (l *Log) Fine(now time.Time) (n Note) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.said.IsZero() {
		n = Note{Over, now.Sub(l.begun).Round(time.Millisecond), l.failures}
	}
	l.begun, l.said, l.failures = time.Time{}, time.Time{}, 0
	return n
}
