package dynamotest

import (
	"context"
	"sync"
	"time"

	"github.com/weirhq/weir/internal/pause"
)

// Clock is a source of time. A Cloud reads it at each request.
type Clock interface {
	Now() time.Time
	// Sleep returns nil after d, or the error of ctx when ctx ends. A Slow fault calls it.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock is the clock of package time.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	if !pause.For(ctx, d) {
		return ctx.Err()
	}
	return nil
}

// ManualClock is a clock that only Advance moves. Create it with NewManualClock.
type ManualClock struct {
	mu    sync.Mutex
	now   time.Time
	moved chan struct{} // closed by the next Advance
}

// NewManualClock returns a clock that stands at start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start, moved: make(chan struct{})}
}

// Now returns the time at which the clock stands.
func (m *ManualClock) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance moves the clock forward by d. Each Sleep that is then over returns.
func (m *ManualClock) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	close(m.moved)
	m.moved = make(chan struct{})
}

// Sleep returns nil when Advance has moved the clock forward by d, or the error of ctx when ctx
// ends.
func (m *ManualClock) Sleep(ctx context.Context, d time.Duration) error {
	until := m.Now().Add(d)
	for {
		m.mu.Lock()
		now, moved := m.now, m.moved
		m.mu.Unlock()
		if !now.Before(until) {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
