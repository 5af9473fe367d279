package processors

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/stream"
)

// countingFires counts how often each timer fires.
type countingFires struct {
	fired map[string]int
}

func (countingFires) Fold(*stream.Batch) error                   { return nil }
func (countingFires) Flush(stream.Commit, *stream.Changes) error { return nil }

func (c countingFires) OnTimer(_ int64, due []stream.Timer) error {
	for _, t := range due {
		c.fired[string(t.Key)]++
	}
	return nil
}

// TestManyTimersAreDue: after an outage all wall timers may be due. A transaction fires wallLimit
// of them at most, and none is lost. All event timers that are due fire before the next record.
func TestManyTimersAreDue(t *testing.T) {
	const many = 2*wallLimit + 1000
	for _, c := range []struct {
		clock stream.Clock
		want  []int // fired after each transaction
	}{{stream.WallTime, []int{wallLimit, 2 * wallLimit, many, many}}, {stream.EventTime, []int{many, many}}} {
		s := memoryStore(t)
		h := countingFires{map[string]int{}}
		set := &task{timers: newTimers(0, s.DB)}
		for i := range many {
			set.timers.Set(stream.Timer{Clock: c.clock, AtMs: int64(i % 7), Key: fmt.Append(nil, i)})
		}
		commitTimers(t, s, set.timers)
		one := &task{timers: newTimers(0, s.DB), handler: h} // as after a restart
		for i, want := range c.want {
			if err := one.fire(c.clock, 100); err != nil {
				t.Fatal(err)
			}
			commitTimers(t, s, one.timers)
			if len(h.fired) != want {
				t.Errorf("clock %d: %d fired after transaction %d, want %d", c.clock, len(h.fired), i+1, want)
			}
		}
		for key, n := range h.fired {
			if n != 1 {
				t.Fatalf("clock %d: timer %s fired %d times", c.clock, key, n)
			}
		}
	}
}
