//go:build synctests

package processors_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
)

// eventLog is a slog.Handler that keeps the events.
type eventLog struct {
	slog.Handler

	mu     sync.Mutex
	events []string // name, app and level
}

func (l *eventLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *eventLog) Handle(_ context.Context, r slog.Record) error {
	app := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "app" {
			app = a.Value.String()
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, r.Message+" of "+app+" at "+r.Level.String())
	return nil
}

// TestSlog: a slog.Handler receives the events of the runtime, with their levels and fields.
func TestSlog(t *testing.T) {
	var events eventLog
	processorstest.Run(t, processorstest.Options{Processor: tallies()}, func(_ *testing.T, h *processorstest.Harness) {
		h.StartWith("a", processors.Config{Slog: &events}, tallies())
		h.Produce("in", 0, "x", "good", "poison")
		h.CaughtUp()
	})
	for _, want := range []string{"partition_running of tallies at INFO", "poison_record of tallies at WARN"} {
		if !slices.Contains(events.events, want) {
			t.Errorf("no %q among %q", want, events.events)
		}
	}
}
