//go:build synctests

package processors_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// TestTimersAreNotLost: a program without a function for timers stops at partitions whose state has
// some, and runs the others. The version that set the timers continues.
func TestTimersAreNotLost(t *testing.T) {
	const quiet stream.TimerKind = "quiet"
	in := stream.On("in", state.String{}, func(c *stream.Context, r *stream.Record, _ string) error {
		if string(r.Value) == "timer" {
			quiet.Set(c, stream.Timer{AtMs: r.TimeMs + 3_600_000, Key: r.Key})
		}
		return nil
	})
	with := stream.Processor{App: "timers", On: []stream.Callback{in, stream.OnTimer(quiet, func(*stream.Context, stream.Timer) error { return nil })}}
	without := stream.Processor{App: "timers", On: []stream.Callback{in}}
	processorstest.Run(t, processorstest.Options{Processor: with}, func(t *testing.T, h *processorstest.Harness) {
		a := h.Start("a")
		h.Produce("in", 2, "ann", "timer")
		h.CaughtUp()
		a.Stop()
		a = h.StartWith("a", processors.Config{}, without)
		h.WaitFor("the partition stops", time.Minute, func() bool { return a.Status(2).State == processors.StateStopped })
		if why := a.Status(2).Reason; !strings.Contains(why, `kind "quiet" and key "ann"`) {
			t.Errorf("it is stopped because %s", why)
		}
		h.WaitFor("another partition runs", time.Minute, func() bool { return a.Status(1).State == processors.StateRunning })
		a.Stop()
		h.Start("a")
		h.CaughtUp()
	})
}
