package healthage

import (
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// TestAge: a row is written every second by a clock that is wrong, and arrives late. The reader
// observes each one as it arrives, and had read the log to its end a second before.
func TestAge(t *testing.T) {
	for name, c := range map[string]struct {
		copied      bool
		clock, late time.Duration // of the writer's clock; of each row
		first, then time.Duration // age of the first row, and of those behind it
	}{
		"right clock":              {true, 0, time.Second, time.Second, time.Second},
		"own, right clock":         {false, 0, 500 * time.Millisecond, 500 * time.Millisecond, 500 * time.Millisecond},
		"an hour ahead":            {true, time.Hour, time.Second, Unknown, 0},
		"a second ahead":           {true, time.Second, 0, 0, 0},
		"an hour behind":           {true, -time.Hour, time.Second, time.Hour + time.Second, 0},
		"late":                     {true, 0, 20 * time.Second, 20 * time.Second, 20 * time.Second},
		"own, an hour behind":      {false, -time.Hour, 0, time.Hour, 0},
		"own, ten seconds behind":  {false, -10 * time.Second, 0, 10 * time.Second, time.Second},
		"copy, ten seconds behind": {true, -10 * time.Second, 0, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := Row{Copied: c.copied}
			now := time.UnixMilli(1_767_600_000_000)
			for n := range 5 {
				written := now.Add(-c.late + c.clock).UnixMilli()
				health := &eventspb.SpendHistogram{Incarnation: 1, OwnerEpoch: 1, Sequence: uint64(n + 1), WrittenAtMs: written}
				r.Observe(now, health, (*Row).AgeOf)
				r.ReadTo(now)
				switch got := r.Age(now); {
				case n == 0 && got != c.first:
					t.Errorf("the first row is %v old, want %v", got, c.first)
				case n > 1 && got != c.then: // the second row shows what the clock is
					t.Errorf("row %d is %v old, want %v", n+1, got, c.then)
				}
				now = now.Add(time.Second)
			}
			r.Observe(now, nil, (*Row).AgeOf)
			if r.Present {
				t.Error("a row that was removed is present")
			}
		})
	}
}

// TestOldRow: rows that were in the log when the reader started do not show the clock of the
// writer, so they are as old as they state.
func TestOldRow(t *testing.T) {
	r := Row{Copied: true}
	now := time.UnixMilli(1_767_600_000_000)
	for n := range 3 { // the reader has not read to the end
		r.Observe(now, &eventspb.SpendHistogram{
			Incarnation: 1, OwnerEpoch: 1, Sequence: uint64(n + 1), WrittenAtMs: now.Add(-time.Hour).UnixMilli(),
		}, (*Row).AgeOf)
		if got := r.Age(now.Add(time.Second)); got != time.Hour+time.Second {
			t.Errorf("row %d is %v old after a second", n+1, got)
		}
		now = now.Add(time.Second)
	}
}
