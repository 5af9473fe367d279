package logthrottle

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func at(s float64) time.Time { return time.UnixMilli(1_700_000_000_000 + int64(s*1000)) }

// TestOneOutage: hundreds of failures per second give one event when they begin, one per minute and
// one when they end.
func TestOneOutage(t *testing.T) {
	var l Tracker
	var got []string
	take := func(e Event) {
		if e.Kind != None {
			got = append(got, fmt.Sprintf("%d after %v: %d", e.Kind, e.For, e.Failures))
		}
	}
	for ms := range 150_000 {
		if ms%10 == 0 {
			take(l.Failure(at(float64(ms) / 1000)))
		}
	}
	take(l.Success(at(151)))
	take(l.Success(at(152)))
	want := []string{"1 after 2s: 201", "2 after 1m2s: 6201", "2 after 2m2s: 12201", "3 after 2m31s: 15000"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestShortFailures: failures that are followed by a success at once give no event.
func TestShortFailures(t *testing.T) {
	var l Tracker
	for s := range 100 {
		for _, n := range []Event{l.Failure(at(float64(s))), l.Failure(at(float64(s) + 0.9)), l.Success(at(float64(s) + 0.95))} {
			if n.Kind != None {
				t.Fatalf("after %d s: %+v", s, n)
			}
		}
	}
}

// TestFlapping: for random failures and successes there are at most two events in ten seconds,
// Begin and End alternate, and Continue comes between them at most once per minute.
func TestFlapping(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var l Tracker
		open, events, now := false, 0, 0.0
		var on float64
		for range 5000 {
			now += rng.ExpFloat64() * []float64{0.01, 1, 10}[rng.IntN(3)]
			var n Event
			if rng.IntN(4) > 0 {
				n = l.Failure(at(now))
			} else {
				n = l.Success(at(now))
			}
			if n.Kind == None {
				continue
			}
			events++
			switch {
			case n.Kind == Begin && open, n.Kind == End && !open, n.Kind == Continue && (!open || now-on < 59.9):
				t.Fatalf("seed %d, after %v s: %+v while open is %v", seed, now, n, open)
			case n.Kind == Begin && (n.For < beginAfter || n.Failures < 2):
				t.Fatalf("seed %d: %+v is too short for an outage", seed, n)
			}
			open, on = n.Kind != End, now
		}
		if float64(events) > now/5+now/60+2 || events == 0 {
			t.Errorf("seed %d: %d events in %v s", seed, events, now)
		}
	}
}

// TestAnotherOutage: a failure long after the previous one starts a new outage.
func TestAnotherOutage(t *testing.T) {
	var l Tracker
	l.Failure(at(0))
	if n := l.Failure(at(3)); n.Kind != Begin {
		t.Fatalf("%+v", n)
	}
	l.Failure(at(1000))
	if n := l.Failure(at(1005)); n.Kind != Begin || n.Failures != 2 || n.For != 5*time.Second {
		t.Errorf("%+v", n)
	}
}
