//go:build synctests

package processors_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// delay is the time from a record to its timers.
const delay = 500 * time.Millisecond

// alarms sets two timers for each record, one of each clock, and emits each timer that fires: its
// clock and the offset of the record.
type alarms struct {
	stream.Task
	fired []string
}

func (h *alarms) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		for _, clock := range []stream.Clock{stream.EventTime, stream.WallTime} {
			h.Timers.Set(stream.Timer{Clock: clock, AtMs: r.TimeMs + delay.Milliseconds(), Key: strconv.AppendInt(nil, r.Offset, 10)})
		}
	}
	return nil
}

func (h *alarms) OnTimer(nowMs int64, due []stream.Timer) error {
	for _, t := range due {
		if t.AtMs > nowMs {
			return fmt.Errorf("timer of record %s is due at %d, and it is %d", t.Key, t.AtMs, nowMs)
		}
		h.fired = append(h.fired, fmt.Sprintf("%d %s", t.Clock, t.Key))
	}
	return nil
}

func (h *alarms) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, f := range h.fired {
		ch.EmitTo("out", h.Partition, stream.Message{Key: []byte(f)})
	}
	h.fired = h.fired[:0]
	return nil
}

func alarming() processorstest.Options {
	return processorstest.Options{Partitions: 1, Processor: stream.Processor{
		App: "alarms", Inputs: []string{"in"}, Changelog: "log", Outputs: stream.OutputTopics("out"),
		New: func(t stream.Task) (stream.Handler, error) { return &alarms{Task: t}, nil },
	}}
}

// fired counts how often each timer has fired, by clock and record.
func fired(w *processorstest.Harness) map[string]int {
	n := map[string]int{}
	for _, r := range w.Records("out") {
		n[string(r.Key)]++
	}
	return n
}

// TestClockOfProducerJumps: the timestamps of producers jump by an hour, forward and back, while
// the process is killed at each failpoint. Each timer fires once and not early: in event time when
// the newest record passes it, in wall time when its time has come. The watermark never goes back.
func TestClockOfProducerJumps(t *testing.T) {
	processorstest.Run(t, alarming(), func(t *testing.T, w *processorstest.Harness) {
		base := time.Now().Truncate(time.Second)
		jumps := []time.Duration{0, time.Hour, 0, time.Hour + time.Second, -time.Hour, time.Second, 2 * time.Hour, -time.Hour, time.Hour}
		newest, p := time.Duration(0), w.Start("a")
		for i, jump := range jumps {
			w.CaughtUp()
			if i%2 == 1 {
				p.KillAt(processorstest.Failpoints()[i/2])
			}
			w.Send(&kgo.Record{Topic: "in", Key: []byte("k"), Timestamp: base.Add(jump)})
			if newest = max(newest, jump); i%2 == 1 {
				if err := p.Await(); err != processorstest.ErrKilled {
					t.Fatal(err)
				}
				p = w.Start("a")
			}
		}
		w.CaughtUp()
		time.Sleep(5 * time.Second)
		got := fired(w)
		for i, jump := range jumps {
			event, wall := 0, 0
			if jump < newest { // the newest timer waits for a record that passes it
				event = 1
			}
			if jump < time.Minute { // the time of day is still near base
				wall = 1
			}
			if n := got[fmt.Sprintf("%d %d", stream.EventTime, i)]; n != event {
				t.Errorf("record %d, %s from the first: its timer of event time fired %d times, want %d", i, jump, n, event)
			}
			if n := got[fmt.Sprintf("%d %d", stream.WallTime, i)]; n != wall {
				t.Errorf("record %d, %s from the first: its wall timer fired %d times, want %d", i, jump, n, wall)
			}
		}
		checkWatermarks(t, w)
	})
}

// checkWatermarks checks that the watermark never goes back.
func checkWatermarks(t *testing.T, w *processorstest.Harness) {
	t.Helper()
	last := int64(-1)
	for _, r := range w.Records("log") {
		m, err := changelogpb.DecodeMarker(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		if m != nil && m.WatermarkMs < last {
			t.Errorf("the watermark goes back from %d to %d", last, m.WatermarkMs)
		}
		if m != nil {
			last = m.WatermarkMs
		}
	}
	if last <= 0 {
		t.Error("no marker has a watermark")
	}
}

// TestClockOfProcessJumps: a process is frozen for an hour, as on a suspended machine. The timers
// that were due in that hour fire once, late. No other timer fires.
func TestClockOfProcessJumps(t *testing.T) {
	processorstest.Run(t, alarming(), func(t *testing.T, w *processorstest.Harness) {
		a := w.Start("a")
		w.CaughtUp()
		base := time.Now()
		for _, after := range []time.Duration{0, 30 * time.Minute, 3 * time.Hour} {
			w.Send(&kgo.Record{Topic: "in", Key: []byte("k"), Timestamp: base.Add(after)})
		}
		w.CaughtUp()
		time.Sleep(2 * time.Second)
		a.Freeze()
		time.Sleep(time.Hour)
		a.Thaw()
		w.CaughtUp()
		time.Sleep(2 * time.Second)
		w.Send(&kgo.Record{Topic: "in", Key: []byte("k"), Timestamp: base.Add(4 * time.Hour)})
		w.CaughtUp()
		time.Sleep(2 * time.Second)
		var got []string
		for _, r := range w.Records("out") {
			got = append(got, string(r.Key))
		}
		want := "0 0, 0 1, 1 0, 1 1, 0 2"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("fired: %s, want %s", s, want)
		}
	})
}
