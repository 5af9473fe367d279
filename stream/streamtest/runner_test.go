package streamtest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// failed is a testing.TB that keeps the message of Fatal and Fatalf and ends the goroutine.
type failed struct {
	testing.TB
	text string
}

func (f *failed) Helper() {}

func (f *failed) Fatal(args ...any) {
	f.text = fmt.Sprint(args...)
	runtime.Goexit()
}

func (f *failed) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// fails returns the message with which fn fails a test, "" if it does not.
func fails(t *testing.T, fn func(tb testing.TB)) string {
	f := &failed{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn(f)
	}()
	<-done
	return f.text
}

// adder adds the value of each record to a sum and emits it.
func adder(out string) stream.Processor {
	sums := state.NewTable(1, state.String{}, state.Uint64{})
	return stream.Processor{
		Outputs: stream.OutputTopics("sums"),
		New: stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
			switch string(r.Value) {
			case "bad":
				return stream.Rejectf("bad", "it is %q", r.Value)
			case "broken":
				return errors.New("no luck")
			}
			n, _, err := sums.Get(c, "sum")
			if err != nil {
				return err
			}
			sums.Put(c, "sum", n+uint64(len(r.Value)))
			c.Emit(out, stream.Message{Value: fmt.Append(nil, n+uint64(len(r.Value)))})
			return nil
		}),
	}
}

func values(r *Runner) (list []string) {
	for _, c := range r.TakeOutputs() {
		list = append(list, string(c.Value))
	}
	return list
}

// TestTransactions: only Commit makes state, outputs, rejects and offsets count.
func TestTransactions(t *testing.T) {
	r := New(t, Options{Processor: adder("sums"), Partition: 2})
	r.Append([]byte("a"), []byte("bad"), []byte("bb"))
	for _, discard := range []func(){r.Crash, func() { r.Abort(1000) }} {
		r.FoldAll()
		discard()
		if r.Remaining() != 3 || len(r.Table(1)) != 0 || values(r) != nil || r.TakeRejects() != nil {
			t.Fatal("a discarded transaction left something")
		}
	}
	r.Fold(2)
	r.Commit(1000)
	r.Fold(100)
	r.Commit(2000)
	if got := values(r); !slices.Equal(got, []string{"1", "3"}) {
		t.Errorf("outputs: %q", got)
	}
	if got := r.TakeRejects(); len(got) != 1 || got[0] != (Reject{"in", 1, "bad", `it is "bad"`}) {
		t.Errorf("rejects: %v", got)
	}
	sums := state.NewTable(1, state.String{}, state.Uint64{})
	if n, ok, err := sums.Get(r, "sum"); n != 3 || !ok || err != nil || r.Remaining() != 0 {
		t.Errorf("sum: %d, %t, %v", n, ok, err)
	}
}

// TestFailures: what the runtime would not accept fails the test, with the reason.
func TestFailures(t *testing.T) {
	fold := func(p stream.Processor, value string) func(tb testing.TB) {
		return func(tb testing.TB) {
			r := New(tb, Options{Processor: p})
			r.Append([]byte(value))
			r.FoldAll()
			r.Commit(1)
		}
	}
	for name, x := range map[string]struct {
		fn   func(tb testing.TB)
		want string
	}{
		"an error of the function":     {fold(adder("sums"), "broken"), "fold in from offset 0: record at offset 0: no luck"},
		"an output without a name":     {fold(adder("other"), "a"), `output "other", which the processor does not declare`},
		"no constructor":               {fold(stream.Processor{}, "a"), "New is nil"},
		"a topic that is not an input": {func(tb testing.TB) { New(tb, Options{Processor: adder("sums")}).AppendTo("other") }, `"other" is not an input`},
		"timers in the past for ever": {fold(stream.Processor{New: stream.EachRecordWithTimers(
			func(c *stream.Context, _ *stream.Record) error {
				c.SetTimer(stream.Timer{Clock: stream.WallTime})
				return nil
			},
			func(c *stream.Context, x stream.Timer) error { x.Key = append(x.Key, 'x'); c.SetTimer(x); return nil },
		)}, "a"), "timers are still due"},
	} {
		if got := fails(t, x.fn); !strings.Contains(got, x.want) {
			t.Errorf("%s: the test fails with %q, want %q", name, got, x.want)
		}
	}
}

// keeper keeps the memory of a record, which the runtime reuses.
type keeper struct{ value []byte }

func (k *keeper) Fold(b *stream.Batch) error { k.value = b.Records[0].Value; return nil }

func (k *keeper) Flush(_ stream.Commit, ch *stream.Changes) error {
	ch.Emit("out", stream.Message{Value: k.value})
	return nil
}

// TestReusedMemory: a handler that keeps a record's memory finds it overwritten.
func TestReusedMemory(t *testing.T) {
	r := New(t, Options{Processor: stream.Processor{New: func(stream.Task) (stream.Handler, error) { return &keeper{}, nil }}})
	r.Append([]byte("abc"))
	r.FoldAll()
	r.Commit(1)
	if got := values(r); len(got) != 1 || got[0] == "abc" {
		t.Errorf("a kept record is %q", got)
	}
}

// TestEventTime: timers of event time fire between the records of two grains, however the records
// are batched, and only the slower of two inputs advances them.
func TestEventTime(t *testing.T) {
	run := func(batch int) []string {
		r := New(t, Options{Processor: stream.Processor{
			Inputs: []string{"a", "b"},
			New: stream.EachRecordWithTimers(
				func(c *stream.Context, r *stream.Record) error {
					c.SetTimer(stream.Timer{AtMs: r.TimeMs + 1000, Key: r.Key})
					c.Emit("out", stream.Message{Value: fmt.Appendf(nil, "%s at %d", r.Key, r.TimeMs)})
					return nil
				},
				func(c *stream.Context, x stream.Timer) error {
					c.Emit("out", stream.Message{Value: fmt.Appendf(nil, "timer %s at %d", x.Key, c.NowMs())})
					return nil
				}),
		}})
		r.AppendTo("a", stream.Record{Key: []byte("x"), TimeMs: 10_000}, stream.Record{Key: []byte("y"), TimeMs: 90_000})
		r.AppendTo("b", stream.Record{Key: []byte("p"), TimeMs: 10_500}, stream.Record{Key: []byte("q"), TimeMs: 12_000}, stream.Record{Key: []byte("r"), TimeMs: 12_100})
		for r.Remaining() > 0 {
			r.Fold(batch)
		}
		r.Commit(1)
		if r.WatermarkMs() != 12_000 {
			t.Errorf("the watermark is %d", r.WatermarkMs())
		}
		return values(r)
	}
	want := []string{"x at 10000", "y at 90000", "p at 10500", "timer x at 12000", "timer p at 12000", "q at 12000", "r at 12100"}
	for _, batch := range []int{1, 2, 100} {
		if got := run(batch); !slices.Equal(got, want) {
			t.Errorf("in batches of %d: %q, want %q", batch, got, want)
		}
	}
}

// TestWallTime: timers of wall time fire at the commit whose time has reached them, again after a
// transaction that failed.
func TestWallTime(t *testing.T) {
	r := New(t, Options{Processor: stream.Processor{New: stream.EachRecordWithTimers(
		func(c *stream.Context, r *stream.Record) error {
			c.SetTimer(stream.Timer{Clock: stream.WallTime, AtMs: 5000, Key: r.Value})
			return nil
		},
		func(c *stream.Context, x stream.Timer) error {
			c.Emit("out", stream.Message{Value: x.Key})
			return nil
		})}})
	r.Append([]byte("b"), []byte("a"))
	r.FoldAll()
	r.Commit(4999)
	if next, ok := r.NextTimer(); next != 5000 || !ok || len(r.Timers()) != 2 || values(r) != nil {
		t.Fatalf("next timer %d, %t", next, ok)
	}
	r.Abort(5000)
	r.Commit(5000)
	r.Commit(6000)
	if got := values(r); !slices.Equal(got, []string{"a", "b"}) || len(r.Timers()) != 0 {
		t.Errorf("timers: %q", got)
	}
}
