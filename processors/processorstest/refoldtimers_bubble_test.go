//go:build synctests

package processorstest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// alarms sets two timers for each record, counts those that fire, and emits each.
type alarms struct {
	stream.Task
	n   int
	out []string
}

func newAlarms(t stream.Task) (stream.Handler, error) {
	v, err := t.Get(1, []byte("n"))
	n, _ := strconv.Atoi(string(v))
	return &alarms{Task: t, n: n}, err
}

func (h *alarms) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		for _, clock := range []stream.Clock{stream.EventTime, stream.WallTime} {
			h.Timers.Set(stream.Timer{Clock: clock, AtMs: r.TimeMs + 1500, Key: fmt.Appendf(nil, "%s/%d", b.Topic, r.Offset)})
		}
	}
	return nil
}

func (h *alarms) OnTimer(_ int64, due []stream.Timer) error {
	for _, t := range due {
		h.out = append(h.out, fmt.Sprintf("%d %s", t.Clock, t.Key))
	}
	return nil
}

func (h *alarms) Flush(_ stream.Commit, ch *stream.Changes) error {
	if len(h.out) == 0 {
		return nil
	}
	for _, key := range h.out {
		ch.EmitTo("out", h.Partition, stream.Message{Key: []byte(key)})
	}
	h.n, h.out = h.n+len(h.out), nil
	ch.Put(1, []byte("n"), strconv.AppendInt(nil, int64(h.n), 10))
	return nil
}

// wrongAlarms calls its handler as a runtime with a bug would. It skips the first timers.
type wrongAlarms struct {
	*alarms
	flaw  string
	clock stream.Clock
	seen  int
	later []stream.Timer
	open  []stream.Timer // set, and not fired
}

func (h *wrongAlarms) Set(t stream.Timer) {
	if t.Clock == h.clock {
		h.open = append(h.open, t)
	}
	h.Timers.Set(t)
}

func (h *wrongAlarms) Cancel(t stream.Timer) { h.Timers.Cancel(t) }

func (h *wrongAlarms) Fold(b *stream.Batch) error {
	if err := h.fireLater(); err != nil {
		return err
	}
	inner := *h.alarms
	inner.Timers = h
	if err := inner.Fold(b); err != nil || h.flaw != "early" {
		return err
	}
	for _, t := range h.open {
		if h.seen++; h.seen == 3 {
			h.Timers.Cancel(t)
			return h.alarms.OnTimer(t.AtMs, []stream.Timer{t})
		}
	}
	return nil
}

func (h *wrongAlarms) fireLater() error {
	later := h.later
	h.later = nil
	return h.alarms.OnTimer(0, later)
}

func (h *wrongAlarms) OnTimer(nowMs int64, due []stream.Timer) error {
	for _, t := range due {
		if t.Clock == h.clock {
			h.seen++
		}
		wrong := t.Clock == h.clock && h.seen == 3
		if !wrong || h.flaw != "never" && h.flaw != "late" {
			if err := h.alarms.OnTimer(nowMs, []stream.Timer{t}); err != nil {
				return err
			}
		}
		if wrong && (h.flaw == "twice" || h.flaw == "late") {
			h.later = append(h.later, t)
		}
	}
	return nil
}

func alarmOptions(inputs ...string) Options {
	return Options{Partitions: 1, Processor: stream.Processor{App: "alarms", Inputs: inputs, Changelog: "log", Outputs: stream.OutputTopics("out"), New: newAlarms}}
}

// runAlarms sends records while processes are killed, and waits for all timers.
func runAlarms(t *testing.T, h *Harness, proc stream.Processor) {
	a := h.StartWith("a", h.options.Config, proc)
	h.CaughtUp()
	base := time.Now()
	for i := range 12 {
		for _, topic := range h.options.Processor.Inputs {
			h.Send(&kgo.Record{Topic: topic, Timestamp: base.Add(time.Duration(i%5*700) * time.Millisecond)})
		}
		time.Sleep(400 * time.Millisecond)
		if i == 6 {
			a.KillAt(Ended)
			h.Send(&kgo.Record{Topic: "in", Timestamp: base.Add(5 * time.Second)})
			if err := a.Await(); err != ErrKilled {
				t.Fatal(err)
			}
			h.StartWith("a", h.options.Config, proc)
		}
	}
	h.Send(&kgo.Record{Topic: "in", Timestamp: base.Add(time.Hour)})
	h.CaughtUp()
	time.Sleep(15 * time.Second) // the other input is idle
	if n := len(h.Records("out")); n < 24 {
		t.Errorf("%d timers fired, want 24 at least", n)
	}
}

// TestTimersAreFiredAgain: the comparison with an undisturbed handler fires the same timers.
func TestTimersAreFiredAgain(t *testing.T) {
	for _, inputs := range [][]string{{"in"}, {"in", "in2"}} {
		Run(t, alarmOptions(inputs...), func(t *testing.T, h *Harness) { runAlarms(t, h, h.options.Processor) })
	}
}

// TestCatchesWrongTimers injects bugs of timers that the comparison must report.
func TestCatchesWrongTimers(t *testing.T) {
	for _, flaw := range []string{"", "twice", "never", "early", "late"} {
		for clock, name := range []string{"event", "wall"} {
			t.Run(flaw+" "+name, func(t *testing.T) {
				o := alarmOptions("in")
				err := CheckRun(t, o, func(t *testing.T, h *Harness) {
					proc := h.options.Processor
					proc.New = func(t stream.Task) (stream.Handler, error) {
						inner, err := newAlarms(t)
						return &wrongAlarms{alarms: inner.(*alarms), flaw: flaw, clock: stream.Clock(clock)}, err
					}
					runAlarms(t, h, proc)
				})
				if flaw == "" {
					if err != nil {
						t.Errorf("without a bug, the checks reported %v", err)
					}
				} else if err == nil || !strings.Contains(err.Error(), "RUN-2: partition 0") {
					t.Errorf("the checks reported %v", err)
				}
			})
		}
	}
}
