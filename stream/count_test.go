package stream_test

import (
	"math"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestCount holds that figures count with the transaction, once, and not for rejected records.
func TestCount(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{On: []stream.Callback{
		stream.On("in", state.String{}, func(c *stream.Context, _ *stream.Record, v string) error {
			c.Log().Info("a record", "value", v) // without a runtime there is no log
			c.Count("records", 1)
			c.Count("bytes", float64(len(v)))
			if v == "bad" {
				return stream.Rejectf("bad", "it is")
			}
			return nil
		}),
	}}})
	r.Append([]byte("a"), []byte("bad"), []byte("bb"))
	r.FoldAll()
	r.Crash()
	r.Fold(2)
	if r.Count("records") != 0 {
		t.Error("it counts before the commit")
	}
	r.Commit(1)
	r.FoldAll()
	r.Commit(2)
	r.Commit(3)
	if n, bytes := r.Count("records"), r.Count("bytes"); n != 2 || bytes != 3 {
		t.Errorf("%g records, %g bytes", n, bytes)
	}
}

// TestCountRefuses holds that what a counter cannot take fails the call that counts it: it must not
// reach the metrics, which panic. A question of such a call is undone, as by its own error.
func TestCountRefuses(t *testing.T) {
	rows := state.NewTable(1, state.String{}, state.String{})
	for _, bad := range []struct {
		name string
		n    float64
		want string
	}{
		{"x", -1, "a counter does not fall"},
		{"x", math.NaN(), "a counter does not fall"},
		{"x", math.Inf(1), "a counter does not fall"},
		{"\xff", 1, "not a legal name"},
		{"", 1, "not a legal name"},
	} {
		var ch stream.Changes
		if ch.Count(bad.name, bad.n); ch.Err() == nil || !strings.Contains(ch.Err().Error(), bad.want) {
			t.Errorf("%q, %g: error %v", bad.name, bad.n, ch.Err())
		}
		r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{
			New: stream.EachRecord(func(*stream.Context, *stream.Record) error { return nil }),
		}})
		err := streamtest.Ask(r, func(c *stream.Context) error {
			rows.Put(c, "k", "asked")
			c.Count("good", 1)
			c.Count(bad.name, bad.n)
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%q, %g: a question returns %v", bad.name, bad.n, err)
		}
		r.Commit(1)
		if _, ok, err := rows.Get(r, "k"); ok || err != nil || r.Count("good") != 0 {
			t.Errorf("%q, %g: a failed question has put %t, %v, and counted %g", bad.name, bad.n, ok, err, r.Count("good"))
		}
	}
}

// TestAskUndoesMisuse: a question that emits what no output takes is undone with its timers.
func TestAskUndoesMisuse(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{New: stream.EachRecordWithTimers(
		func(*stream.Context, *stream.Record) error { return nil }, func(*stream.Context, stream.Timer) error { return nil },
	)}})
	err := streamtest.Ask(r, func(c *stream.Context) error {
		c.Put(1, []byte("k"), []byte("v"))
		c.SetTimer(stream.Timer{AtMs: 1})
		c.Emit("out", stream.Message{TimeMs: -1})
		return nil
	})
	if err == nil {
		t.Error("a question with a misuse has no error")
	}
	r.Commit(1)
	if n := len(r.Table(1)) + len(r.Timers()) + len(r.TakeOutputs()); n != 0 {
		t.Errorf("%d changes are left", n)
	}
}

// TestAskCounts: a question that does nothing but count has a transaction.
func TestAskCounts(t *testing.T) {
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{
		New: stream.EachRecord(func(*stream.Context, *stream.Record) error { return nil }),
	}})
	if err := streamtest.Ask(r, func(c *stream.Context) error { c.Count("asked", 1); return nil }); err != nil {
		t.Fatal(err)
	}
	r.Commit(1)
	if r.Count("asked") != 1 {
		t.Errorf("counted %g", r.Count("asked"))
	}
}
