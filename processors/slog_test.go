//go:build synctests

package processors_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// eventLog is a slog.Handler that keeps the events.
type eventLog struct {
	slog.Handler

	mu     sync.Mutex
	events []string // name, app and level
	stacks []string // of poison_record
}

func (l *eventLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *eventLog) Handle(_ context.Context, r slog.Record) error {
	app, stack := "", ""
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "app":
			app = a.Value.String()
		case "stack":
			stack = a.Value.String()
		}
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Message == "poison_record" {
		l.stacks = append(l.stacks, stack)
	}
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

// TestPoisonStack: the event of a record that panics has the place of the panic, and stays short
// however deep the stack is.
func TestPoisonStack(t *testing.T) {
	var dive func(n int)
	dive = func(n int) {
		if n == 0 {
			panic("too deep")
		}
		dive(n - 1)
	}
	p := stream.Processor{App: "divers", Inputs: []string{"in"}, New: stream.EachRecord(func(_ *stream.Context, r *stream.Record) error {
		dive(len(r.Value))
		return nil
	})}
	var events eventLog
	processorstest.Run(t, processorstest.Options{Processor: p}, func(_ *testing.T, h *processorstest.Harness) {
		h.StartWith("a", processors.Config{Slog: &events}, p)
		h.Produce("in", 0, "x", strings.Repeat("x", 90))
		h.CaughtUp()
	})
	if len(events.stacks) == 0 {
		t.Fatal("no poison_record")
	}
	for _, stack := range events.stacks {
		if !strings.Contains(stack, "slog_test.go") || len(stack) > 5000 {
			t.Errorf("the stack has %d bytes: %.300s", len(stack), stack)
		}
	}
}
