package loadgen

import (
	"fmt"
	"time"
)

// Pacer turns a rate into a number of events per tick. It has no clock: ticks may come as they like, and the sum is
// exact, to the event, whatever their spacing. It is for one goroutine.
type Pacer struct {
	rate int64
	last time.Time
	rest int64 // what the ticks so far left over, in 1e-9 events
}

const (
	maxRate  = 1_000_000_000
	maxPause = time.Second
)

// NewPacer returns a pacer of rate events per second.
func NewPacer(rate int64) (*Pacer, error) {
	p := &Pacer{}
	return p, p.SetRate(rate)
}

// SetRate changes the rate, from 0 to 1e9 events per second, from the last tick on.
func (p *Pacer) SetRate(rate int64) error {
	if rate < 0 || rate > maxRate {
		return fmt.Errorf("loadgen: rate of %d events/s: use 0 to %d", rate, int64(maxRate))
	}
	p.rate = rate
	return nil
}

// Take returns how many events are due since the last call, 0 at the first. After a pause of more than a second it
// asks for one second's worth and forgets the others: a machine that could not keep up is not to be flooded. A clock
// that went back starts anew.
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
