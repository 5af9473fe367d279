package stream_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestTimerInThePast: a timer that a late record sets at or below the watermark fires right after
// the record, once, with what it sets in the past itself. One that is cancelled does not fire.
func TestTimerInThePast(t *testing.T) {
	var got []string
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{New: stream.EachRecordWithTimers(
		func(c *stream.Context, r *stream.Record) error {
			got = append(got, string(r.Value))
			switch string(r.Value) {
			case "late":
				c.SetTimer(stream.Timer{AtMs: 20, Key: []byte("b")})
				c.SetTimer(stream.Timer{AtMs: 10, Key: []byte("a")})
				c.SetTimer(stream.Timer{AtMs: 10, Key: []byte("a")})
				c.SetTimer(stream.Timer{AtMs: 30, Key: []byte("no")})
				c.CancelTimer(stream.Timer{AtMs: 30, Key: []byte("no")})
				c.SetTimer(stream.Timer{AtMs: 7_000, Key: []byte("later")})
				c.SetTimer(stream.Timer{Clock: stream.WallTime, AtMs: 10, Key: []byte("wall")})
			case "refused":
				c.SetTimer(stream.Timer{AtMs: 20, Key: []byte("refused")})
				return stream.Rejectf("refused", "")
			}
			return nil
		},
		func(c *stream.Context, x stream.Timer) error {
			got = append(got, fmt.Sprintf("%s at %d", x.Key, c.NowMs()))
			if string(x.Key) == "a" {
				c.SetTimer(stream.Timer{AtMs: 5, Key: []byte("again")})
				c.SetTimer(stream.Timer{AtMs: 40, Key: []byte("no")})
			}
			if string(x.Key) == "b" {
				c.CancelTimer(stream.Timer{AtMs: 40, Key: []byte("no")})
			}
			return nil
		},
	)}})
	for i, v := range []string{"first", "late", "refused", "next", "end"} {
		r.AppendTo("in", stream.Record{Value: []byte(v), TimeMs: []int64{5_000, 1_000, 1_000, 6_000, 9_000}[i]})
	}
	r.FoldAll()
	want := []string{"first", "late", "a at 5000", "b at 5000", "again at 5000", "refused", "next", "later at 9000", "end"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	r.Commit(1)
	if got = got[len(want):]; len(got) != 0 || len(r.Timers()) != 1 { // that of the clock, which is at 1
		t.Errorf("at the end: %q, timers %v", got, r.Timers())
	}
}

// TestTimersInThePastForEver: a timer function that keeps setting timers in the past is an error,
// and no endless loop.
func TestTimersInThePastForEver(t *testing.T) {
	p := stream.Processor{App: "a", Inputs: []string{"in"}, New: stream.EachRecordWithTimers(
		func(c *stream.Context, _ *stream.Record) error { c.SetTimer(stream.Timer{AtMs: 1}); return nil },
		func(c *stream.Context, x stream.Timer) error { c.SetTimer(stream.Timer{AtMs: x.AtMs + 1}); return nil },
	)}
	h, err := p.New(stream.Task{Timers: noTimers{}})
	if err != nil {
		t.Fatal(err)
	}
	err = h.Fold(&stream.Batch{Topic: "in", WatermarkMs: 1 << 40, Records: make([]stream.Record, 1)})
	if err == nil || !strings.Contains(err.Error(), "keeps setting timers in the past") {
		t.Errorf("error %v", err)
	}
}

type noTimers struct{}

func (noTimers) Set(stream.Timer)    {}
func (noTimers) Cancel(stream.Timer) {}
