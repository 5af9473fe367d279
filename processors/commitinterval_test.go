package processors

import (
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/stream"
)

// TestPace: the commit interval doubles while more records are unread than a transaction takes,
// however few records each poll returns. Otherwise it is the short one again.
func TestPace(t *testing.T) {
	nop := zerolog.Nop()
	w := newWorker(0, &Config{Log: &nop, PollRecords: 20_000, CommitInterval: 100 * time.Millisecond, CommitIntervalMax: time.Second}, &stream.Processor{App: "a"}, nil)
	w.tasks = map[int32]*task{0: {state: taskRunning}, 1: {state: taskRunning}}
	w.interval = w.cfg.CommitInterval
	turn := func(count int, lags ...int64) time.Duration {
		w.count = count
		for p, lag := range lags {
			w.tasks[int32(p)].lag = lag
		}
		w.measureBacklog()
		w.adaptInterval()
		return w.interval
	}
	for i, want := range []int64{200, 400, 800, 1000, 1000} {
		if got := turn(90_000, 1_000_000, 1_000_000).Milliseconds(); got != want {
			t.Errorf("far behind, turn %d: the next commit after %d ms, want %d", i, got, want)
		}
	}
	for _, c := range []struct {
		name  string
		count int
		lag   int64
		want  int64
	}{{"one more transaction", 400_000, 300_000, 100}, {"behind again", 40_000, 50_000, 200}, {"a poll's worth", 1, 20_000, 100}, {"all read", 0, 0, 100}} {
		if got := turn(c.count, c.lag, 0).Milliseconds(); got != c.want {
			t.Errorf("%s: the next commit after %d ms, want %d", c.name, got, c.want)
		}
	}
}
