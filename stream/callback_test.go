package stream_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// fussy is a codec with an error of its own kind, and with a panic.
type fussy struct{}

func (fussy) Decode(b []byte) (string, error) {
	switch string(b) {
	case "old":
		return "", fmt.Errorf("version: %w", stream.Rejectf("old_version", "it is %q", b))
	case "bug":
		panic("index out of range")
	}
	return string(b), nil
}

// echo emits what a codec has made of each value.
func echo[V any](topic string, codec stream.Decoder[V]) stream.Callback {
	return stream.On(topic, codec, func(c *stream.Context, r *stream.Record, v V) error {
		c.Emit("out", stream.Message{Value: fmt.Appendf(nil, "%s %s: %v", c.Topic(), r.Key, v)})
		return nil
	})
}

func texts(r *streamtest.Runner) (list []string) {
	r.FoldAll()
	r.Commit(1)
	for _, c := range r.TakeOutputs() {
		list = append(list, string(c.Value))
	}
	return list
}

// TestOn holds that each input has its function and codec, and that what a codec refuses is
// rejected with the codec's reason, without a stop.
func TestOn(t *testing.T) {
	message, err := proto.Marshal(wrapperspb.String("hello"))
	if err != nil {
		t.Fatal(err)
	}
	on := []stream.Callback{
		echo("json", state.JSON[map[string]int]{}), echo("bytes", state.Bytes{}), echo("text", state.String{}),
		echo("long", state.Long{}), echo("decimal", state.Decimal{}), echo("fussy", fussy{}),
		stream.On("proto", state.Proto[*wrapperspb.StringValue]{}, func(c *stream.Context, _ *stream.Record, v *wrapperspb.StringValue) error {
			c.Emit("out", stream.Message{Value: []byte("proto: " + v.GetValue())})
			return nil
		}),
		stream.OnBytes("raw", func(c *stream.Context, r *stream.Record) error {
			key, err := stream.Decode(state.Decimal{}, r.Key)
			if err != nil {
				return err
			}
			c.Emit("out", stream.Message{Value: fmt.Appendf(nil, "raw %d: %t", key, r.Value == nil)})
			return nil
		}),
	}
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{On: on}})
	for _, x := range []struct{ topic, value string }{
		{"json", `{"a":1}`},
		{"json", `{"a":`},
		{"bytes", "b"},
		{"text", "t"},
		{"text", ""},
		{"long", "\x00\x00\x00\x00\x00\x00\x00\x07"},
		{"long", "7"},
		{"decimal", "-12"},
		{"decimal", "twelve"},
		{"fussy", "old"},
		{"fussy", "bug"},
		{"fussy", "new"},
		{"proto", string(message)},
		{"proto", "\xff"},
	} {
		r.AppendTo(x.topic, stream.Record{Key: []byte("k"), Value: []byte(x.value)})
	}
	r.AppendTo("json", stream.Record{Key: []byte("gone")})
	r.AppendTo("raw", stream.Record{Key: []byte("7")}, stream.Record{Key: []byte("k")}, stream.Record{})
	want := []string{
		"json k: map[a:1]", "bytes k: [98]", "text k: t", "text k: ", "long k: 7", "decimal k: -12", "fussy k: new", "proto: hello", "raw 7: true",
	}
	if got := texts(r); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	rejects := r.TakeRejects()
	var reasons []string
	for _, x := range rejects {
		reasons = append(reasons, x.Topic+" "+x.Reason)
	}
	if want := []string{"json undecodable", "json no_value", "long undecodable", "decimal undecodable", "fussy old_version", "fussy codec_panic", "proto undecodable", "raw undecodable", "raw no_value"}; !slices.Equal(reasons, want) {
		t.Fatalf("rejected %q, want %q", reasons, want)
	}
	if d := rejects[2].Detail; !strings.Contains(d, "1 bytes, 8 are expected") {
		t.Errorf("the detail of a short number is %q", d)
	}
	if d := rejects[5].Detail; !strings.HasPrefix(d, "index out of range\n") || !strings.Contains(d, "callback_test.go") {
		t.Errorf("the detail of a panic has no stack: %q", d)
	}
}

// TestTimerKinds holds that two kinds have timers of one time and key, each with its function.
func TestTimerKinds(t *testing.T) {
	const short, long stream.TimerKind = "short", "long"
	fired := func(name string) func(c *stream.Context, x stream.Timer) error {
		return func(c *stream.Context, x stream.Timer) error {
			c.Emit("out", stream.Message{Value: fmt.Appendf(nil, "%s %s at %d", name, x.Key, x.AtMs)})
			return nil
		}
	}
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{On: []stream.Callback{
		stream.On("in", state.String{}, func(c *stream.Context, r *stream.Record, v string) error {
			timer := stream.Timer{AtMs: 5000, Key: r.Key}
			if v == "cancel" {
				long.Cancel(c, timer)
				return nil
			}
			short.Set(c, timer)
			long.Set(c, timer)
			short.Set(c, stream.Timer{Clock: stream.WallTime, AtMs: 1, Key: []byte("wall/" + v)})
			return nil
		}),
		stream.OnTimer(short, fired("short")), stream.OnTimer(long, fired("long")),
	}}})
	for i, v := range []string{"set", "set", "cancel", "pass"} {
		r.AppendTo("in", stream.Record{Key: []byte([]string{"a", "b/c", "a", "z"}[i]), Value: []byte(v), TimeMs: []int64{0, 1000, 2000, 12_000}[i]})
	}
	want := []string{"long b/c at 5000", "short a at 5000", "short b/c at 5000", "long z at 5000", "short z at 5000", "short wall/pass at 1", "short wall/set at 1"}
	if got := texts(r); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestTimerKindErrors holds that a timer without a function is an error that names what is missing.
func TestTimerKindErrors(t *testing.T) {
	const known, unknown stream.TimerKind = "known", "unknown"
	none := func(*stream.Context, stream.Timer) error { return nil }
	for want, set := range map[string]func(c *stream.Context){
		`kind "unknown" is set, and no function takes it: add OnTimer to Processor.On, which has the kinds ["known"]`: func(c *stream.Context) { unknown.Set(c, stream.Timer{}) },
		"set it with TimerKind.Set": func(c *stream.Context) { c.SetTimer(stream.Timer{}) },
	} {
		p := stream.Processor{App: "a", On: []stream.Callback{
			stream.On("in", state.String{}, func(c *stream.Context, _ *stream.Record, _ string) error { set(c); return nil }),
			stream.OnTimer(known, none),
		}}
		h := handlerOf(t, p)
		if err := h.Fold(&stream.Batch{Topic: "in", Records: []stream.Record{{Value: []byte{}}}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		for key, want := range map[string]string{ // of an earlier version of the program
			"ann": "Add OnTimerWithoutKind", "known/ann": "Add OnTimerWithoutKind", "\xffkind/other\x00ann": `kind "other", which has no function`,
		} {
			err := h.(stream.TimerHandler).OnTimer(1, []stream.Timer{{Key: []byte(key)}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("timer %q: %v, want %s", key, err, want)
			}
		}
	}
}

// TestTimerKindOrder holds that timers of one time fire in the order of their kinds, then of their
// keys, also where a kind begins as another one.
func TestTimerKindOrder(t *testing.T) {
	p := stream.Processor{On: []stream.Callback{stream.On("in", state.String{}, func(c *stream.Context, _ *stream.Record, _ string) error {
		for _, kind := range []stream.TimerKind{"a.b", "a", "a-b"} {
			kind.Set(c, stream.Timer{AtMs: 1, Key: []byte("2")})
			kind.Set(c, stream.Timer{AtMs: 1, Key: []byte("1")})
		}
		return nil
	})}}
	for _, kind := range []stream.TimerKind{"a", "a.b", "a-b"} {
		p.On = append(p.On, stream.OnTimer(kind, func(c *stream.Context, x stream.Timer) error {
			c.Emit("out", stream.Message{Value: []byte(string(kind) + " " + string(x.Key))})
			return nil
		}))
	}
	r := streamtest.New(t, streamtest.Options{Processor: p})
	r.AppendTo("in", stream.Record{Value: []byte{}}, stream.Record{Value: []byte{}, TimeMs: 5000})
	r.FoldFrom("in", 1)
	r.Commit(1)
	r.FoldFrom("in", 1)
	if got, want := texts(r), []string{"a 1", "a 2", "a-b 1", "a-b 2", "a.b 1", "a.b 2"}; !slices.Equal(got[:6], want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTimersOfAnotherForm holds that no timer is lost when a program changes from
// EachRecordWithTimers to functions with kinds, and back: it has a function, or is an error.
func TestTimersOfAnotherForm(t *testing.T) {
	const quiet stream.TimerKind = "quiet"
	var got []string
	take := func(form string) func(*stream.Context, stream.Timer) error {
		return func(_ *stream.Context, x stream.Timer) error { got = append(got, form+" "+string(x.Key)); return nil }
	}
	set := func(c *stream.Context, r *stream.Record, _ string) error {
		quiet.Set(c, stream.Timer{AtMs: 1, Key: r.Key})
		c.SetTimer(stream.Timer{AtMs: 1, Key: []byte("quiet/" + string(r.Key))})
		return nil
	}
	kinds := stream.Processor{App: "a", On: []stream.Callback{
		stream.On("in", state.String{}, set), stream.OnTimer(quiet, take("quiet")), stream.OnTimerWithoutKind(take("none")),
	}}
	r := streamtest.New(t, streamtest.Options{Processor: kinds})
	r.AppendTo("in", stream.Record{Key: []byte("ann"), Value: []byte{}})
	r.FoldAll()
	r.Commit(1)
	stored := r.Timers()
	if kind, key := stored[1].Kind(); len(stored) != 2 || kind != quiet || string(key) != "ann" {
		t.Fatalf("timers %v", stored)
	}
	if err := handlerOf(t, kinds).(stream.TimerHandler).OnTimer(1, stored); err != nil || !slices.Equal(got, []string{"none quiet/ann", "quiet ann"}) {
		t.Errorf("%q, %v", got, err)
	}
	old := handlerOf(t, stream.Processor{App: "a", Inputs: []string{"in"}, New: stream.EachRecordWithTimers(
		func(c *stream.Context, _ *stream.Record) error {
			c.SetTimer(stream.Timer{Key: stored[1].Key})
			return nil
		}, take("old"))}).(interface {
		stream.Handler
		stream.TimerHandler
	})
	if err := old.OnTimer(1, stored[:1]); err != nil || got[len(got)-1] != "old quiet/ann" {
		t.Errorf("a timer without a kind: %q, %v", got, err)
	}
	for what, err := range map[string]error{
		"timer":  old.OnTimer(1, stored[1:]),
		"record": old.Fold(&stream.Batch{Topic: "in", Records: make([]stream.Record, 1)}),
	} {
		if err == nil || !strings.Contains(err.Error(), `kind "quiet"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func handlerOf(t *testing.T, p stream.Processor) stream.Handler {
	t.Helper()
	err := p.Complete()
	if err == nil {
		err = p.Complete() // again: offline work completes a processor that is complete
	}
	h, err2 := p.New(stream.Task{})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestCallbackErrors holds that what is missing, or there twice, is an error at the start.
func TestCallbackErrors(t *testing.T) {
	fn := func(*stream.Context, *stream.Record, string) error { return nil }
	timer := func(*stream.Context, stream.Timer) error { return nil }
	in := stream.On("in", state.String{}, fn)
	for want, p := range map[string]stream.Processor{
		`two functions take the records of input "in"`:     {On: []stream.Callback{in, in}},
		`two functions take the timers of kind "k"`:        {On: []stream.Callback{in, stream.OnTimer("k", timer), stream.OnTimer("k", timer)}},
		`On("in") has no codec or no function`:             {On: []stream.Callback{stream.On("in", state.String{}, nil)}},
		`OnBytes("raw") has no function`:                   {On: []stream.Callback{in, stream.OnBytes("raw", nil)}},
		`two functions take the timers without a kind`:     {On: []stream.Callback{in, stream.OnTimerWithoutKind(timer), stream.OnTimerWithoutKind(timer)}},
		`OnTimerWithoutKind has no function`:               {On: []stream.Callback{in, stream.OnTimerWithoutKind(nil)}},
		`OnTimer("a/b"): give a function, and a kind`:      {On: []stream.Callback{in, stream.OnTimer("a/b", timer)}},
		`a Callback is empty`:                              {On: []stream.Callback{in, {}}},
		`input "more" has no function`:                     {Inputs: []string{"in", "more"}, On: []stream.Callback{in}},
		`a function for topic "in", which is not in Input`: {Inputs: []string{"more"}, On: []stream.Callback{stream.On("more", state.String{}, fn), in}},
		`has New and On`:                                   {New: stream.EachRecord(nil), On: []stream.Callback{in}},
		`has no input topic`:                               {On: []stream.Callback{stream.OnTimer("k", timer)}},
	} {
		p.App = "a"
		if err := p.Complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestTypedOutput holds that a value is encoded once for each record, is never a tombstone, and
// that a codec's error abandons the transaction.
func TestTypedOutput(t *testing.T) {
	counts := stream.NewTypedOutput("out", state.JSON[any]{})
	raw := stream.NewTypedOutput("out", state.Bytes{})
	p := stream.Processor{App: "a", Outputs: stream.OutputTopics("out"), On: []stream.Callback{
		stream.On("in", state.String{}, func(c *stream.Context, r *stream.Record, v string) error {
			if v == "bad" {
				counts.Emit(c, stream.Message{}, func() {})
				return nil
			}
			raw.Emit(c, stream.Message{Key: r.Key}, nil)
			counts.Emit(c, stream.Message{Key: r.Key, TimeMs: 7}, map[string]string{"v": v})
			return nil
		}),
	}}
	r := streamtest.New(t, streamtest.Options{Processor: p})
	r.AppendTo("in", stream.Record{Key: []byte("k"), Value: []byte("x")}, stream.Record{Key: []byte("l"), Value: []byte("yy")})
	r.FoldAll()
	r.Commit(1)
	out := r.TakeOutputs()
	if len(out) != 4 || out[0].Value == nil || string(out[1].Value) != `{"v":"x"}` || !bytes.Equal(out[3].Key, []byte("l")) || out[1].To.TimeMs != 7 {
		t.Errorf("outputs: %v", out)
	}
	err := handlerOf(t, p).Fold(&stream.Batch{Topic: "in", Records: []stream.Record{{Value: []byte("bad")}}})
	if err == nil || !strings.Contains(err.Error(), `encode a value for output "out"`) {
		t.Errorf("a codec's error: %v", err)
	}
}
