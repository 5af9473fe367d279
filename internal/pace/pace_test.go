package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

const startRate = 2000

// run sends all that the pace lets through for a time, to a table that takes so many a second; it gives how many went in.
func run(t *testing.T, p *Limiter, takes int, d time.Duration) (done int) {
	t.Helper()
	until := time.Now().Add(d)
	second, left := time.Now(), takes
	for time.Now().Before(until) {
		if err := p.Wait(t.Context(), 25); err != nil {
			t.Fatal(err)
		}
		if time.Since(second) >= time.Second {
			second, left = time.Now(), takes
		}
		n := min(25, left)
		left, done = left-n, done+n
		p.OnThrottled(25 - n)
	}
	return done
}

// The pace finds what a table takes, follows it down, and keeps below what it is told.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(startRate, 25, 0)
		run(t, p, 40_000, 10*time.Second)
		if done := run(t, p, 40_000, 20*time.Second) / 20; done < 28_000 || done > 40_000 {
			t.Errorf("%d a second into a table that takes 40,000", done)
		}
		run(t, p, 2000, 15*time.Second)
		if r := p.Rate(); r > 4000 {
			t.Errorf("%d a second are tried of a table that takes 2,000", r)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		p := New(startRate, 25, 10)
		if done := run(t, p, 1_000_000, 60*time.Second); done > 10*60+50 {
			t.Errorf("%d in a minute, 10 a second are allowed", done)
		}
	})
}

// A limit that nothing reaches does not grow.
func TestPaceOfSlowSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(startRate, 25, 0)
		for range 600 {
			if err := p.Wait(t.Context(), 25); err != nil {
				t.Fatal(err)
			}
			<-time.After(100 * time.Millisecond)
		}
		if r := p.Rate(); r > startRate {
			t.Errorf("250 a second were sent, and the limit is %d", r)
		}
	})
}
