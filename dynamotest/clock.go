package dynamotest

import (
	"context"
	"sync"
	"time"
)

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or earlier with the error of ctx.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock is the time of package time.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ManualClock is a clock that stands still until Advance. It is made by NewManualClock.
type ManualClock struct {
	mu    sync.Mutex
	now   time.Time
	moved chan struct{} // closed by the next Advance
}

// NewManualClock returns a clock that stands at start.
func NewManualClock(start time.Time) *ManualClock {
	return &ManualClock{now: start, moved: make(chan struct{})}
}

// Now returns where the clock stands.
func (m *ManualClock) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Advance puts the clock forward, and wakes those who slept until then.
func (m *ManualClock) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	close(m.moved)
	m.moved = make(chan struct{})
}

// Sleep waits until the clock was put forward by d.
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
