package admin

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/weirhq/weir/internal/leasetable"
)

// pace finds out how many writes a second a table takes: twice as many each quarter of a second until it throttles, then a
// third less, and from there a little more each second while it throttles next to none.
type pace struct {
	most float64

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

func newPace(most int) *pace {
	p := &pace{most: float64(most), from: time.Now(), learning: true}
	begin := float64(StartRate)
	if most > 0 {
		begin = min(begin, p.most)
	}
	p.limit = rate.NewLimiter(rate.Limit(begin), leasetable.MaxInsert)
	return p
}

// wait waits until n more may be written.
func (p *pace) wait(ctx context.Context, n int) error {
	p.mu.Lock()
	if now := time.Now(); now.Sub(p.from) >= p.look() {
		p.adjust()
		p.from, p.tried, p.throttled = now, 0, 0
	}
	p.tried += n
	p.mu.Unlock()
	return p.limit.WaitN(ctx, n)
}

func (p *pace) look() time.Duration {
	if p.learning {
		return time.Second / 4
	}
	return time.Second
}

// adjust goes by what was throttled since the last look.
func (p *pace) adjust() {
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

// throttle is told that the table refused n.
func (p *pace) throttle(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.throttled += n
}

func (p *pace) set(limit float64) {
	limit = max(limit, leasetable.MaxInsert)
	if p.most > 0 {
		limit = min(limit, p.most)
	}
	p.limit.SetLimit(rate.Limit(limit))
}

func (p *pace) rate() int { return int(p.limit.Limit()) }
