package outage

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

func at(s float64) time.Time { return time.UnixMilli(1_700_000_000_000 + int64(s*1000)) }

// TestOneOutage: hundreds of failures a second are a line when they begin, one a minute, and one at their end.
func TestOneOutage(t *testing.T) {
	var l Tracker
	var said []string
	take := func(n Event) {
		if n.Phase != None {
			said = append(said, fmt.Sprintf("%d after %v: %d", n.Phase, n.For, n.Failures))
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
	if fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("said %q\nwant %q", said, want)
	}
}

// TestShortFailuresAreNone: what is made good at once is not told of, neither that it began nor that it is over.
func TestShortFailuresAreNone(t *testing.T) {
	var l Tracker
	for s := range 100 {
		for _, n := range []Event{l.Failure(at(float64(s))), l.Failure(at(float64(s) + 0.9)), l.Success(at(float64(s) + 0.95))} {
			if n.Phase != None {
				t.Fatalf("after %d s: %+v", s, n)
			}
		}
	}
}

// TestFlapping: however it comes and goes, there are no more lines than two in ten seconds, each outage that was told of is told to be
// over, and in between it is told to go on at most once a minute.
func TestFlapping(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var l Tracker
		open, lines, now := false, 0, 0.0
		var on float64
		for range 5000 {
			now += rng.ExpFloat64() * []float64{0.01, 1, 10}[rng.IntN(3)]
			var n Event
			if rng.IntN(4) > 0 {
				n = l.Failure(at(now))
			} else {
				n = l.Success(at(now))
			}
			if n.Phase == None {
				continue
			}
			lines++
			switch {
			case n.Phase == Started && open, n.Phase == Ended && !open, n.Phase == Continues && (!open || now-on < 59.9):
				t.Fatalf("seed %d, after %v s: %+v while open is %v", seed, now, n, open)
			case n.Phase == Started && (n.For < minDuration || n.Failures < 2):
				t.Fatalf("seed %d: %+v is no outage", seed, n)
			}
			open, on = n.Phase != Ended, now
		}
		if float64(lines) > now/5+now/60+2 || lines == 0 {
			t.Errorf("seed %d: %d lines in %v s", seed, lines, now)
		}
	}
}

// TestAnotherOutage: failures long after the last ones, of which nobody knows how they ended, begin anew.
func TestAnotherOutage(t *testing.T) {
	var l Tracker
	l.Failure(at(0))
	if n := l.Failure(at(3)); n.Phase != Started {
		t.Fatalf("%+v", n)
	}
	l.Failure(at(1000))
	if n := l.Failure(at(1005)); n.Phase != Started || n.Failures != 2 || n.For != 5*time.Second {
		t.Errorf("%+v", n)
	}
}
