package ratelimit

import (
	"testing"
	"testing/synctest"
	"time"
)

const startRate = 2000

// run sends as many writes as p allows for the duration d to a table that accepts capacity writes
// per second. It returns the number of accepted writes.
func run(t *testing.T, p *Limiter, capacity int, d time.Duration) (done int) {
	t.Helper()
	until := time.Now().Add(d)
	second, left := time.Now(), capacity
	for time.Now().Before(until) {
		if err := p.Wait(t.Context(), 25); err != nil {
			t.Fatal(err)
		}
		if time.Since(second) >= time.Second {
			second, left = time.Now(), capacity
		}
		n := min(25, left)
		left, done = left-n, done+n
		p.Throttled(25 - n)
	}
	return done
}

// TestLimiterAdapts: the limiter finds the capacity of a table, follows a decrease and keeps the
// highest rate.
func TestLimiterAdapts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(startRate, 25, 0)
		run(t, p, 40_000, 10*time.Second)
		if done := run(t, p, 40_000, 20*time.Second) / 20; done < 28_000 || done > 40_000 {
			t.Errorf("%d writes per second into a table that accepts 40,000", done)
		}
		run(t, p, 2000, 15*time.Second)
		if r := p.Rate(); r > 4000 {
			t.Errorf("%d writes per second are tried on a table that accepts 2,000", r)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := New(startRate, 25, 10)
		if done := run(t, p, 1_000_000, 60*time.Second); done > 10*60+50 {
			t.Errorf("%d writes in a minute, 10 per second are allowed", done)
		}
	})
}

// TestUnusedRateStays: a rate that the sender does not reach does not increase.
func TestUnusedRateStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(startRate, 25, 0)
		for range 600 {
			if err := p.Wait(t.Context(), 25); err != nil {
				t.Fatal(err)
			}
			<-time.After(100 * time.Millisecond)
		}
		if r := p.Rate(); r > startRate {
			t.Errorf("250 writes per second were sent and the rate is %d", r)
		}
	})
}
