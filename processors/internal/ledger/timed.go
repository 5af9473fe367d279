package ledger

import (
	"fmt"

	"github.com/weirhq/weir/stream"
)

// How long after its record each timer of a TimedHandler is due, in milliseconds.
const (
	EventDelayMs = 1500
	WallDelayMs  = 700
)

// TimedHandler is a Handler that sets two timers for each accepted record, one of each clock, and
// emits each timer that fires: "0" for event time or "1" for wall time, and the origin of the
// record.
type TimedHandler struct {
	*Handler
	fired []string
}

// NewTimed makes a TimedHandler.
func NewTimed(t stream.Task) (stream.Handler, error) {
	return &TimedHandler{Handler: newHandler(t)}, nil
}

// Fold implements stream.Handler.
func (h *TimedHandler) Fold(b *stream.Batch) error {
	if err := h.Handler.Fold(b); err != nil {
		return err
	}
	rejected := map[int]bool{}
	for _, r := range b.Rejects {
		rejected[r.Index] = true
	}
	for i, r := range b.Records {
		if !rejected[i] {
			key := []byte(Origin(b.Topic, b.Partition, r.Offset))
			h.Task.Timers.Set(stream.Timer{Clock: stream.EventTime, AtMs: r.TimeMs + EventDelayMs, Key: key})
			h.Task.Timers.Set(stream.Timer{Clock: stream.WallTime, AtMs: r.TimeMs + WallDelayMs, Key: key})
		}
	}
	return nil
}

// OnTimer implements stream.TimerHandler.
func (h *TimedHandler) OnTimer(nowMs int64, due []stream.Timer) error {
	for _, t := range due {
		if t.AtMs > nowMs {
			return fmt.Errorf("timer %s is due at %d, it is %d", t.Key, t.AtMs, nowMs)
		}
		h.fired = append(h.fired, fmt.Sprintf("%d %s", t.Clock, t.Key))
	}
	return nil
}

// Flush implements stream.Handler.
func (h *TimedHandler) Flush(c stream.Commit, ch *stream.Changes) error {
	for _, f := range h.fired {
		ch.EmitTo("fired", h.Task.Partition, stream.Message{Key: []byte(f), Value: []byte(f)})
	}
	h.fired = h.fired[:0]
	return h.Handler.Flush(c, ch)
}
