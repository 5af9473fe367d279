package pace

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Pace finds out how many writes a second a table takes: twice as many each quarter of a second until it throttles, then a
// third less, and from there a little more each second while it throttles next to none.
type Pace struct {
	least, most float64

	mu               sync.Mutex
	limit            *rate.Limiter
	from             time.Time // of the present look
	tried, throttled int       // since then
	learning         bool      // it was never throttled
}

const (
	lessBy, lessAbove = 0.67, 0.1 // the share that is throttled
	moreBy, moreBelow = 1.05, 0.02
	used              = 0.7 // of the limit, before it grows
)

// New makes a Pace that begins at start a second. least is how many may be written at once, and the fewest a second; most
// the most a second, 0 for no limit.
func New(start, least, most int) *Pace {
	p := &Pace{least: float64(least), most: float64(most), from: time.Now(), learning: true}
	begin := float64(start)
	if most > 0 {
		begin = min(begin, p.most)
	}
	p.limit = rate.NewLimiter(rate.Limit(begin), least)
	return p
}

// Wait waits until n more may be written.
func (p *Pace) Wait(ctx context.Context, n int) error {
	p.mu.Lock()
	if now := time.Now(); now.Sub(p.from) >= p.look() {
		p.adjust()
		p.from, p.tried, p.throttled = now, 0, 0
	}
	p.tried += n
	p.mu.Unlock()
	return p.limit.WaitN(ctx, n)
}

func (p *Pace) look() time.Duration {
	if p.learning {
		return time.Second / 4
	}
	return time.Second
}

// adjust goes by what was throttled since the last look.
func (p *Pace) adjust() {
	switch share := float64(p.throttled) / float64(max(p.tried, 1)); {
	case share > lessAbove:
		p.learning = false
		p.set(float64(p.limit.Limit()) * lessBy)
	case share > moreBelow:
		p.learning = false
	case float64(p.tried) < used*float64(p.limit.Limit())*p.look().Seconds(): // it is not the limit that holds us back
	case p.learning:
		p.set(float64(p.limit.Limit()) * 2)
	default:
		p.set(float64(p.limit.Limit()) * moreBy)
	}
}

// Throttle is told that the table refused n.
func (p *Pace) Throttle(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.throttled += n
}

func (p *Pace) set(limit float64) {
	limit = max(limit, p.least)
	if p.most > 0 {
		limit = min(limit, p.most)
	}
	p.limit.SetLimit(rate.Limit(limit))
}

// Rate is how many a second it lets through now.
func (p *Pace) Rate() int { return int(p.limit.Limit()) }
