package state_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
	"github.com/weirhq/weir/stream/streamtest"
)

// visits emits the sessions of each key: the values, and the times in seconds.
func visits() stream.Processor {
	s := state.NewSessions(1, "visits", state.String{}, 30*time.Second, func(a, b string) string { return a + b })
	return stream.Processor{
		Tables: state.Tables(s), Time: stream.EventTimeConfig{Lateness: time.Hour},
		On: []stream.Callback{
			stream.On("clicks", state.String{}, func(c *stream.Context, r *stream.Record, v string) error {
				return s.Add(c, string(r.Key), r.TimeMs, v)
			}),
			stream.On("quiet", state.String{}, func(*stream.Context, *stream.Record, string) error { return nil }),
			s.OnEnd(func(c *stream.Context, key string, x state.Session[string]) error {
				c.Emit("visits", stream.Message{Value: fmt.Appendf(nil, "%s %d-%d: %d", key, x.FirstMs/1000, x.LastMs/1000, len(x.Value))})
				return nil
			}),
		},
	}
}

// dumb returns the sessions of seconds: it sorts them, and cuts where there is a gap.
func dumb(key string, seconds []int64) (list []string) {
	slices.Sort(seconds)
	for i := 0; i < len(seconds); {
		n := 1
		for i+n < len(seconds) && seconds[i+n] < seconds[i+n-1]+30 {
			n++
		}
		list = append(list, fmt.Sprintf("%s %d-%d: %d", key, seconds[i], seconds[i+n-1], n))
		i += n
	}
	return list
}

// TestSessionsAgainstSort compares sessions of clicks in random order with those of sorted clicks,
// over crashes and commits at random.
func TestSessionsAgainstSort(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		r := streamtest.New(t, streamtest.Options{Processor: visits()})
		seconds, nowMs := map[string][]int64{}, int64(0)
		for range 1 + rng.IntN(40) {
			key, second := string(rune('a'+rng.IntN(3))), int64(rng.IntN(400))
			seconds[key] = append(seconds[key], second)
			r.AppendTo("clicks", stream.Record{Key: []byte(key), Value: []byte("x"), TimeMs: second * 1000})
			switch rng.IntN(4) {
			case 0:
				r.FoldAll()
			case 1:
				r.Crash()
			case 2:
				nowMs += 1000
				r.Commit(nowMs)
			}
		}
		r.FoldAll()
		r.Commit(nowMs + 6000)
		if got := r.TakeOutputs(); got != nil { // the other input is quiet, and clicks may be late
			t.Fatalf("seed %d: too early: %v", seed, got)
		}
		r.AppendTo("clicks", stream.Record{Key: []byte("z"), Value: []byte("x"), TimeMs: 10_000_000})
		r.FoldAll()
		r.Commit(nowMs + 7000)
		var got, want []string
		for _, c := range r.TakeOutputs() {
			got = append(got, string(c.Value))
		}
		for key, list := range seconds {
			want = append(want, dumb(key, list)...)
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Fatalf("seed %d: got  %q\nwant %q", seed, got, want)
		}
		if n := len(r.Timers()); n != 1 {
			t.Fatalf("seed %d: %d timers are left", seed, n)
		}
	}
}

// TestLateSessions: values that come after the end of their session are the same sessions, whether
// a transaction without records comes between them or not.
func TestLateSessions(t *testing.T) {
	for _, idle := range []bool{false, true} {
		p := visits()
		p.Time.Lateness, p.Inputs, p.On = 0, []string{"clicks"}, append(p.On[:1:1], p.On[2])
		r := streamtest.New(t, streamtest.Options{Processor: p})
		for i, second := range []int64{900, 200, 210, 890} { // 890 joins the open session of 900
			r.AppendTo("clicks", stream.Record{Key: []byte("a"), Value: []byte("x"), TimeMs: second * 1000})
			r.FoldAll()
			if idle {
				r.Commit(int64(2000 * i))
				r.Commit(int64(2000*i + 1000))
			}
		}
		r.AppendTo("clicks", stream.Record{Key: []byte("b"), Value: []byte("x"), TimeMs: 1_000_000})
		r.FoldAll()
		r.Commit(10_000)
		var got []string
		for _, c := range r.TakeOutputs() {
			got = append(got, string(c.Value))
		}
		if want := []string{"a 200-200: 1", "a 210-210: 1", "a 890-900: 2"}; !slices.Equal(got, want) {
			t.Errorf("idle transactions: %t: got %q, want %q", idle, got, want)
		}
	}
}

// TestSessionRows: the row of a key does not depend on the order of its values.
func TestSessionRows(t *testing.T) {
	rows := map[string]bool{}
	for _, seconds := range [][]int64{{80, 120, 160}, {120, 80, 160}, {160, 120, 80}} {
		p := visits()
		r := streamtest.New(t, streamtest.Options{Processor: p})
		for _, second := range seconds {
			r.AppendTo("clicks", stream.Record{Key: []byte("a"), Value: []byte("x"), TimeMs: second * 1000})
		}
		r.FoldAll()
		r.Commit(1)
		for _, v := range r.Table(p.Tables[0].Number) {
			rows[string(v)] = true
		}
	}
	if len(rows) != 1 {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
}

// TestSessionTimes: a record whose time no session can have is rejected, and stops nothing.
func TestSessionTimes(t *testing.T) {
	p := visits()
	p.Time.Of = func(string, *stream.Record) int64 { return 0 }
	r := streamtest.New(t, streamtest.Options{Processor: p})
	for _, ms := range []int64{-1, math.MaxInt64, math.MaxInt64 - 29_999, 0} {
		r.AppendTo("clicks", stream.Record{Key: []byte("a"), Value: []byte("x"), TimeMs: ms})
	}
	r.FoldAll()
	r.Commit(1)
	rejects := r.TakeRejects()
	if len(rejects) != 3 || rejects[0].Reason != state.ReasonSessionTime || !strings.Contains(rejects[0].Detail, "-1") || len(r.Timers()) != 1 {
		t.Errorf("rejected %+v, timers %v", rejects, r.Timers())
	}
}

// TestSessionsAreComplete holds that a processor with sessions that cannot work does not start.
func TestSessionsAreComplete(t *testing.T) {
	merge := func(a, b int) int { return a + b }
	end := func(*stream.Context, string, state.Session[int]) error { return nil }
	for want, x := range map[string]struct {
		gap   time.Duration
		merge func(a, b int) int
		end   func(*stream.Context, string, state.Session[int]) error
	}{
		"a gap of 0 ms":                {time.Microsecond, merge, end},
		"a gap of -1000 ms":            {-time.Second, merge, end},
		"merge is set: false":          {time.Second, nil, end},
		"the function of OnEnd: false": {time.Second, merge, nil},
	} {
		s := state.NewSessions(1, "s", state.String{}, x.gap, x.merge)
		p := stream.Processor{App: "a", Tables: state.Tables(s), On: []stream.Callback{
			stream.On("in", state.String{}, func(*stream.Context, *stream.Record, string) error { return nil }), s.OnEnd(x.end),
		}}
		if err := p.Complete(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestAddAtEnd: what the function of OnEnd adds to the same key is a session.
func TestAddAtEnd(t *testing.T) {
	s := state.NewSessions(1, "visits", state.String{}, 30*time.Second, func(a, b string) string { return a + b })
	p := stream.Processor{Tables: state.Tables(s), On: []stream.Callback{
		stream.On("clicks", state.String{}, func(c *stream.Context, r *stream.Record, v string) error {
			return s.Add(c, string(r.Key), r.TimeMs, v)
		}),
		s.OnEnd(func(c *stream.Context, key string, x state.Session[string]) error {
			c.Emit("visits", stream.Message{Value: []byte(x.Value)})
			if x.Value == "first" {
				return s.Add(c, key, x.LastMs+3_600_000, "again")
			}
			return nil
		}),
	}}
	r := streamtest.New(t, streamtest.Options{Processor: p})
	r.AppendTo("clicks", stream.Record{Key: []byte("a"), Value: []byte("first"), TimeMs: 100_000})
	r.AppendTo("clicks", stream.Record{Key: []byte("b"), Value: []byte("z"), TimeMs: 90_000_000})
	r.FoldAll()
	r.Commit(1)
	var got []string
	for _, c := range r.TakeOutputs() {
		got = append(got, string(c.Value))
	}
	if want := []string{"first", "again"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestSessionsMergeInOrder: merge gets the run first that begins first, whatever comes first.
func TestSessionsMergeInOrder(t *testing.T) {
	s := state.NewSessions(1, "words", state.Uint64{}, 30*time.Second, func(a, b string) string { return a + b })
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{
		Tables: state.Tables(s),
		Time:   stream.EventTimeConfig{Lateness: time.Minute},
		On: []stream.Callback{
			stream.On("in", state.String{}, func(c *stream.Context, r *stream.Record, v string) error { return s.Add(c, 7, r.TimeMs, v) }),
			s.OnEnd(func(c *stream.Context, key uint64, x state.Session[string]) error {
				c.Emit("out", stream.Message{Value: fmt.Appendf(nil, "%d %s", key, x.Value)})
				return nil
			}),
		},
	}})
	for _, x := range []struct {
		second int64
		word   string
	}{{120, "c"}, {80, "a"}, {100, "b"}, {140, "d"}, {300, "later"}} {
		r.AppendTo("in", stream.Record{Value: []byte(x.word), TimeMs: x.second * 1000})
	}
	r.FoldAll()
	r.Commit(1)
	if out := r.TakeOutputs(); len(out) != 1 || string(out[0].Value) != "7 abcd" {
		t.Errorf("outputs %v", out)
	}
}

// TestOpenSessions: Get returns the sessions of a key that have not ended.
func TestOpenSessions(t *testing.T) {
	s := state.NewSessions(1, "visits", state.String{}, 30*time.Second, func(a, b int) int { return a + b })
	r := streamtest.New(t, streamtest.Options{Processor: stream.Processor{
		Tables: state.Tables(s),
		Time:   stream.EventTimeConfig{Lateness: time.Minute},
		On: []stream.Callback{
			stream.On("clicks", state.String{}, func(c *stream.Context, r *stream.Record, _ string) error { return s.Add(c, string(r.Key), r.TimeMs, 1) }),
			s.OnEnd(func(*stream.Context, string, state.Session[int]) error { return nil }),
		},
	}})
	open := func(second int64) []state.Session[int] {
		t.Helper()
		r.AppendTo("clicks", stream.Record{Key: []byte("a"), Value: []byte("x"), TimeMs: second * 1000})
		r.FoldAll()
		r.Commit(second)
		list, ok, err := s.Get(r, "a")
		if err != nil || !ok {
			t.Fatalf("at %d s: %t, %v", second, ok, err)
		}
		return list
	}
	open(100)
	if got, want := open(90), []state.Session[int]{{FirstMs: 90_000, LastMs: 100_000, Value: 2}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := open(150), []state.Session[int]{{90_000, 100_000, 2}, {150_000, 150_000, 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := open(200), []state.Session[int]{{150_000, 150_000, 1}, {200_000, 200_000, 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if list, ok, err := s.Get(r, "b"); list != nil || ok || err != nil {
		t.Errorf("of another key: %v, %t, %v", list, ok, err)
	}
}
