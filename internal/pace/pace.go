package pace

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter finds out how many writes a second a table takes: twice as many each quarter of a second until it throttles, then a
// third less, and from there a little more each second while it throttles next to none.
type Limiter struct {
	min, max float64

	mu               sync.Mutex
	limit            *rate.Limiter
	from             time.Time // of the present look
	tried, throttled int       // since then
	learning         bool      // it was never throttled
}

const (
	decreaseFactor, throttledHigh = 0.67, 0.1 // the share that is throttled
	increaseFactor, throttledLow  = 1.05, 0.02
	minUtilization                = 0.7 // of the limit, before it grows
)

// New makes a Pace that begins at start a second. least is how many may be written at once, and the fewest a second; most
// the most a second, 0 for no limit.
func New(start, least, most int) *Limiter {
	p := &Limiter{min: float64(least), max: float64(most), from: time.Now(), learning: true}
	begin := float64(start)
	if most > 0 {
		begin = min(begin, p.max)
	}
	p.limit = rate.NewLimiter(rate.Limit(begin), least)
	return p
}

// Wait waits until n more may be written.
func (p *Limiter) Wait(ctx context.Context, n int) error {
	p.mu.Lock()
	if now := time.Now(); now.Sub(p.from) >= p.window() {
		p.adjust()
		p.from, p.tried, p.throttled = now, 0, 0
	}
	p.tried += n
	p.mu.Unlock()
	return p.limit.WaitN(ctx, n)
}

func (p *Limiter) window() time.Duration {
	if p.learning {
		return time.Second / 4
	}
	return time.Second
}

// adjust goes by what was throttled since the last look.
func (p *Limiter) adjust() {
	switch share := float64(p.throttled) / float64(max(p.tried, 1)); {
	case share > throttledHigh:
		p.learning = false
		p.set(float64(p.limit.Limit()) * decreaseFactor)
	case share > throttledLow:
		p.learning = false
	case float64(p.tried) < minUtilization*float64(p.limit.Limit())*p.window().Seconds(): // it is not the limit that holds us back
	case p.learning:
		p.set(float64(p.limit.Limit()) * 2)
	default:
		p.set(float64(p.limit.Limit()) * increaseFactor)
	}
}

// OnThrottled is told that the table refused n.
func (p *Limiter) OnThrottled(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.throttled += n
}

func (p *Limiter) set(limit float64) {
	limit = max(limit, p.min)
	if p.max > 0 {
		limit = min(limit, p.max)
	}
	p.limit.SetLimit(rate.Limit(limit))
}

// Rate is how many a second it lets through now.
func (p *Limiter) Rate() int { return int(p.limit.Limit()) }
