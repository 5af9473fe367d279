package stream_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestAskEachRecord: a question works with a Context as a record does. Its error undoes what it did
// and nothing else, and is returned as it is.
func TestAskEachRecord(t *testing.T) {
	sums := state.NewTable(1, state.String{}, state.Uint64{})
	add := func(c *stream.Context, n uint64) error {
		sum, _, err := sums.Get(c, "sum")
		if err != nil {
			return err
		}
		sums.Put(c, "sum", sum+n)
		c.Emit("sums", stream.Message{Value: []byte{byte(sum + n)}})
		c.SetTimer(stream.Timer{Clock: stream.WallTime, AtMs: int64(1000 * (sum + n)), Key: []byte("k")})
		return nil
	}
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{New: stream.EachRecordWithTimers(
		func(c *stream.Context, r *stream.Record) error { return add(c, uint64(len(r.Value))) },
		func(*stream.Context, stream.Timer) error { return nil },
	)}})
	r.Append([]byte("a"))
	r.FoldAll()
	failed := errors.New("failed")
	for name, fn := range map[string]func(c *stream.Context) error{
		"an error": func(c *stream.Context) error { return errors.Join(add(c, 10), failed) },
		"a misuse": func(c *stream.Context) error { c.Put(200, nil, nil); return add(c, 10) },
	} {
		if err := streamtest.Ask(r, fn); err == nil || name == "an error" && !errors.Is(err, failed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := streamtest.Ask(r, func(c *stream.Context) error {
		if c.Topic() != "" || c.NowMs() != 0 {
			t.Errorf("topic %q, time %d", c.Topic(), c.NowMs())
		}
		c.Wake()
		return add(c, 2)
	}); err != nil || !r.Woken() {
		t.Errorf("%v, woken: %t", err, r.Woken())
	}
	r.Commit(1)
	if n, _, err := sums.Get(r, "sum"); n != 3 || err != nil || r.Woken() {
		t.Errorf("the sum is %d, %v, woken: %t", n, err, r.Woken())
	}
	if out, timers := r.TakeOutputs(), r.Timers(); len(out) != 2 || len(timers) != 2 {
		t.Errorf("%d outputs, %d timers, want 2 of each", len(out), len(timers))
	}
	if err := streamtest.Ask(r, func(*jobQueue) error { return nil }); err == nil || !strings.Contains(err.Error(), "*stream_test.jobQueue") {
		t.Errorf("a question for another type: %v", err)
	}
	if err := streamtest.Ask(streamtest.New(t, streamtest.Options{Processor: stream.Processor{New: newJobQueue}}), func(*stream.Context) error { return nil }); err == nil {
		t.Error("a handler that is not of EachRecord gave a Context")
	}
}

// silent is a source without records.
type silent struct{}

func (*silent) Read(ctx context.Context, _ *stream.SourceQueue) error {
	<-ctx.Done()
	return nil
}

// acknowledging is a source that learns which transactions have committed.
type acknowledging struct {
	silent
	reports []uint64
}

func (s *acknowledging) Committed(sequence uint64) { s.reports = append(s.reports, sequence) }

// TestAskSource: a question gets the source itself, and commits are reported to a source that asks
// for them, and to no other.
func TestAskSource(t *testing.T) {
	for _, s := range []stream.Source{&silent{}, &acknowledging{}} {
		r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{
			New: stream.FromSource(0, func(stream.Task) (stream.Source, error) { return s, nil }),
		}})
		defer r.Handler().(stream.Closer).Close()
		r.Commit(1) // nothing to commit: no transaction
		for i := range 2 {
			r.Append([]byte("control"))
			r.FoldAll()
			r.Commit(int64(2 + i))
		}
		var got stream.Source
		if err := streamtest.Ask(r, func(x stream.Source) error { got = x; return nil }); err != nil || got != s {
			t.Errorf("%T: %v, %v", s, got, err)
		}
		_, listens := r.Handler().(stream.CommitListener)
		a, want := s.(*acknowledging)
		if listens != want {
			t.Errorf("%T: its handler is a CommitListener: %t", s, listens)
		}
		if want && (!slices.Equal(a.reports, []uint64{1, 2})) {
			t.Errorf("reports: %d", a.reports)
		}
	}
}
