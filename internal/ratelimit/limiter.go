package ratelimit

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limiter limits the rate of writes and adapts it. In each period (a quarter of a second until the
// first throttling, a second after it) it looks at the share of writes that were throttled:
//
//	over 10 %   the rate is multiplied by 0.67
//	2 to 10 %   the rate stays
//	under 2 %   the rate is multiplied by 2 until the first throttling and by 1.05 after it, if at
//	            least 70 % of it were used
//
// A Limiter may be used by several goroutines at once.
type Limiter struct {
	least, most float64 // writes per second; most 0 means no limit

	mu               sync.Mutex
	limit            *rate.Limiter
	from             time.Time // start of the period
	tried, throttled int       // writes in the period
	learning         bool      // no write was throttled yet
}

const (
	decrease, decreaseAbove = 0.67, 0.1 // share of throttled writes
	increase, increaseBelow = 1.05, 0.02
	used                    = 0.7 // share of the rate that must be used before it increases
)

// New returns a limiter with an initial rate of start writes per second. least is the lowest rate
// and the greatest burst. most is the highest rate, 0 for no limit.
func New(start, least, most int) *Limiter {
	l := &Limiter{least: float64(least), most: float64(most), from: time.Now(), learning: true}
	initial := float64(start)
	if most > 0 {
		initial = min(initial, l.most)
	}
	l.limit = rate.NewLimiter(rate.Limit(initial), least)
	return l
}

// Wait waits until n more writes are allowed. n is at most the least of New. The error means that
// ctx has ended, or ends before the writes would be allowed.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	l.mu.Lock()
	if now := time.Now(); now.Sub(l.from) >= l.period() {
		l.adapt()
		l.from, l.tried, l.throttled = now, 0, 0
	}
	l.tried += n
	l.mu.Unlock()
	return l.limit.WaitN(ctx, n)
}

func (l *Limiter) period() time.Duration {
	if l.learning {
		return time.Second / 4
	}
	return time.Second
}

// adapt sets the rate by the share of writes that were throttled in the period.
func (l *Limiter) adapt() {
	switch share := float64(l.throttled) / float64(max(l.tried, 1)); {
	case share > decreaseAbove:
		l.learning = false
		l.set(float64(l.limit.Limit()) * decrease)
	case share > increaseBelow:
		l.learning = false
	case float64(l.tried) < used*float64(l.limit.Limit())*l.period().Seconds():
		// The sender is slower than the rate.
	case l.learning:
		l.set(float64(l.limit.Limit()) * 2)
	default:
		l.set(float64(l.limit.Limit()) * increase)
	}
}

// Throttled reports that the table refused n writes.
func (l *Limiter) Throttled(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.throttled += n
}

func (l *Limiter) set(limit float64) {
	limit = max(limit, l.least)
	if l.most > 0 {
		limit = min(limit, l.most)
	}
	l.limit.SetLimit(rate.Limit(limit))
}

// Rate returns the present rate in writes per second.
func (l *Limiter) Rate() int { return int(l.limit.Limit()) }
