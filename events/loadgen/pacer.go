package loadgen

import (
	"fmt"
	"time"
)

// Pacer converts a rate into a number of events per tick. It reads no clock. The sum of events is
// exact for every spacing of the ticks. It must not be used by several goroutines at once.
type Pacer struct {
	rate int64 // events per second
	last time.Time
	rest int64 // fraction of an event that is due, in 1e-9 events
}

const (
	maxRate  = 1_000_000_000
	maxPause = time.Second
)

// NewPacer returns a pacer for rate events per second.
func NewPacer(rate int64) (*Pacer, error) {
	p := &Pacer{}
	return p, p.SetRate(rate)
}

// SetRate sets the rate, from 0 to 1e9 events per second. It applies from the last tick.
func (p *Pacer) SetRate(rate int64) error {
	if rate < 0 || rate > maxRate {
		return fmt.Errorf("loadgen: rate of %d events/s: use 0 to %d events/s", rate, int64(maxRate))
	}
	p.rate = rate
	return nil
}

// Take returns the number of events that are due since the last call. The first call returns 0.
// After a pause of more than a second, Take returns the events of one second and drops the others,
// so that a machine that could not keep up is not flooded. If the clock goes back, Take returns 0
// and continues from now.
func (p *Pacer) Take(now time.Time) int {
	if p.last.IsZero() || now.Before(p.last) {
		p.last = now
		return 0
	}
	since := min(now.Sub(p.last), maxPause)
	p.last = now
	p.rest += p.rate * int64(since)
	due := p.rest / int64(time.Second)
	p.rest %= int64(time.Second)
	return int(due)
}
