//go:build synctests

package processors_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// tallies counts each key in table 1, adds a row for each record to table 2, and emits the count.
// The value "bad" is rejected and "poison" panics, each after half of the work.
func tallies() stream.Processor {
	return stream.Processor{
		App: "tallies", Inputs: []string{"in"}, Outputs: stream.OutputTopics("counts"),
		New: stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
			v, err := c.Get(1, r.Key)
			if err != nil {
				return err
			}
			n, _ := strconv.Atoi(string(v))
			c.Put(1, r.Key, strconv.AppendInt(nil, int64(n+1), 10))
			c.Emit("counts", stream.Message{Key: r.Key, Value: strconv.AppendInt(nil, int64(n+1), 10)})
			if string(r.Value) == "poison" {
				panic("poison")
			}
			last := ""
			if err := c.Scan(2, r.Key, func(k, _ []byte) error { last = string(k); return nil }); err != nil {
				return err
			}
			if want := fmt.Sprintf("%s/%06d", r.Key, n); n > 0 && last != want {
				return fmt.Errorf("the last row of %s is %q, want %q", r.Key, last, want)
			}
			c.Put(2, fmt.Appendf(nil, "%s/%06d", r.Key, n+1), nil)
			if string(r.Value) == "bad" {
				return stream.Rejectf("bad", "the value says so")
			}
			return nil
		}),
	}
}

// TestEachRecordSurvivesKills: the process is killed at each failpoint. A record function counts
// each record once, and leaves no trace of records that it rejects or that panic. The harness
// compares state and outputs with those of an undisturbed handler.
func TestEachRecordSurvivesKills(t *testing.T) {
	processorstest.Run(t, processorstest.Options{Processor: tallies()}, func(t *testing.T, w *processorstest.Harness) {
		p := w.Start("a")
		for round, failpoint := range processorstest.Failpoints() {
			w.CaughtUp()
			p.KillAt(failpoint)
			for partition := range int32(4) {
				w.Produce("in", partition, "x", "good", "bad", "good")
				w.Produce("in", partition, "y", "good", "good")
				if round == 2 {
					w.Produce("in", partition, "x", "poison", "good")
				}
			}
			if err := p.Await(); err != processorstest.ErrKilled {
				t.Fatalf("the process was not killed at %q: %v", failpoint, err)
			}
			p = w.Start("a")
		}
		w.CaughtUp()
		for partition := range int32(4) {
			counts := w.State(partition, 1)
			if x, y := string(counts["x"]), string(counts["y"]); x != "11" || y != "10" {
				t.Errorf("partition %d counted x %s times, not 11, and y %s times, not 10", partition, x, y)
			}
			if n := len(w.State(partition, 2)); n != 21 {
				t.Errorf("partition %d has %d rows, want 21", partition, n)
			}
		}
		reasons := map[string]int{}
		for _, r := range w.Records("tallies.dlq") {
			for _, h := range r.Headers {
				if h.Key == "weir-reason" {
					reasons[string(h.Value)]++
				}
			}
		}
		if reasons["bad"] != 20 || reasons["panic"] != 4 {
			t.Errorf("dead letters: %v", reasons)
		}
	})
}

// reminderAfter is longer than a restart takes.
const reminderAfter = 30 * time.Second

// reminders emits each key that had no record for the time reminderAfter, in event time and in wall
// time.
func reminders() stream.Processor {
	timer := func(clock stream.Clock, atMs int64, key []byte) stream.Timer {
		return stream.Timer{Clock: clock, AtMs: atMs, Key: key}
	}
	return stream.Processor{
		App: "reminders", Inputs: []string{"in"}, Outputs: stream.OutputTopics("out"),
		New: stream.EachRecordWithTimers(func(c *stream.Context, r *stream.Record) error {
			for i, clock := range []stream.Clock{stream.EventTime, stream.WallTime} {
				table := byte(i + 1)
				was, err := c.Get(table, r.Key)
				if err != nil {
					return err
				}
				if atMs, err := strconv.ParseInt(string(was), 10, 64); err == nil {
					c.CancelTimer(timer(clock, atMs, r.Key))
				}
				c.SetTimer(timer(clock, r.TimeMs+reminderAfter.Milliseconds(), r.Key))
				c.Put(table, r.Key, strconv.AppendInt(nil, r.TimeMs+reminderAfter.Milliseconds(), 10))
			}
			if string(r.Value) == "bad" { // the timers stay as they were
				return stream.Rejectf("bad", "the value says so")
			}
			return nil
		}, func(c *stream.Context, x stream.Timer) error {
			table := byte(x.Clock) + 1
			if at, err := c.Get(table, x.Key); err != nil || string(at) != strconv.FormatInt(x.AtMs, 10) || x.AtMs > c.NowMs() {
				return fmt.Errorf("timer of %s fires for %d, it is set for %s, and it is %d: %w", x.Key, x.AtMs, at, c.NowMs(), err)
			}
			c.Delete(table, x.Key)
			c.Emit("out", stream.Message{Key: x.Key, Value: []byte{'0' + byte(x.Clock)}, TimeMs: x.AtMs})
			return nil
		}),
	}
}

// TestEachRecordTimersSurviveKills: the process is killed at each failpoint. The timers of a record
// function fire once, for the last record of a key. Those of rejected records are never set.
func TestEachRecordTimersSurviveKills(t *testing.T) {
	processorstest.Run(t, processorstest.Options{Processor: reminders(), Partitions: 1}, func(t *testing.T, w *processorstest.Harness) {
		p := w.Start("a")
		send := func(key, value string) {
			w.Send(&kgo.Record{Topic: "in", Key: []byte(key), Value: []byte(value), Timestamp: time.Now()})
		}
		for round, failpoint := range processorstest.Failpoints() {
			w.CaughtUp()
			key := strings.Repeat("k", round+1)
			send(key, "good")
			time.Sleep(reminderAfter / 2)
			p.KillAt(failpoint)
			send(key, "good") // the first timers are cancelled before they are due
			if err := p.Await(); err != processorstest.ErrKilled {
				t.Fatal(err)
			}
			p = w.Start("a")
			w.CaughtUp()
			time.Sleep(reminderAfter / 4)
			send(key, "bad")
			time.Sleep(3 * reminderAfter)
		}
		send("last", "good") // event time passes all timers but its own
		w.CaughtUp()
		time.Sleep(3 * reminderAfter)
		got := map[string]int{}
		for _, r := range w.Records("out") {
			got[string(r.Key)+string(r.Value)]++
		}
		for round := range processorstest.Failpoints() {
			key := strings.Repeat("k", round+1)
			if got[key+"0"] != 1 || got[key+"1"] != 1 {
				t.Errorf("%s: %d event timers and %d wall timers fired, want one each", key, got[key+"0"], got[key+"1"])
			}
		}
		if got["last1"] != 1 || got["last0"] != 0 || len(got) != 11 {
			t.Errorf("fired: %v", got)
		}
	})
}
