package processors

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

func memoryStore(t testing.TB) *store.Store {
	t.Helper()
	cfg := Config{Dir: "/state", FS: vfs.NewMem()}
	cfg.SetDefaults()
	s, err := store.Open(cfg.database(), "timers")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// commitTimers writes the timers of the open transaction to the store, as a commit does.
func commitTimers(t interface{ Fatal(args ...any) }, s *store.Store, list *timers) int {
	var ch stream.Changes
	list.flush(&ch)
	b := s.DB.NewBatch()
	if err := store.Apply(b, list.p, ch.List); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		t.Fatal(err)
	}
	list.committed()
	return len(ch.List)
}

// TestTimersAgainstMap compares the timers of a task with a map, over transactions, aborts and
// takeovers.
func TestTimersAgainstMap(t *testing.T) {
	s := memoryStore(t)
	rapid.Check(t, func(t *rapid.T) {
		if err := s.ClearPartition(3); err != nil {
			t.Fatal(err)
		}
		durable, open := map[string]stream.Timer{}, map[string]stream.Timer{}
		list := newTimers(3, s.DB)
		name := func(x stream.Timer) string { return fmt.Sprintf("%d %s", x.Clock, timerKey(x.AtMs, x.Key)) }
		copied := func(m map[string]stream.Timer) map[string]stream.Timer {
			out := map[string]stream.Timer{}
			for k, v := range m {
				out[k] = v
			}
			return out
		}
		timer := rapid.Custom(func(t *rapid.T) stream.Timer {
			return stream.Timer{
				Clock: stream.Clock(rapid.IntRange(0, 1).Draw(t, "clock")), AtMs: rapid.Int64Range(0, 40).Draw(t, "at"),
				Key: []byte(rapid.SampledFrom([]string{"", "a", "b", "\x00", "\xff\xff"}).Draw(t, "key")),
			}
		})
		t.Repeat(map[string]func(*rapid.T){
			"set":    func(t *rapid.T) { x := timer.Draw(t, "timer"); list.Set(x); open[name(x)] = x },
			"cancel": func(t *rapid.T) { x := timer.Draw(t, "timer"); list.Cancel(x); delete(open, name(x)) },
			"fire": func(t *rapid.T) {
				clock, upTo, limit := stream.Clock(rapid.IntRange(0, 1).Draw(t, "clock")), rapid.Int64Range(0, 45).Draw(t, "up to"), rapid.IntRange(1, 5).Draw(t, "limit")
				var want []string
				for k, x := range open {
					if x.Clock == clock && x.AtMs <= upTo {
						want = append(want, k)
						delete(open, k)
					}
				}
				slices.Sort(want)
				var got []string
				for {
					due, err := list.due(clock, upTo, limit)
					if err != nil {
						t.Fatal(err)
					}
					if len(due) > limit {
						t.Fatalf("%d timers, want %d at most", len(due), limit)
					}
					if len(due) == 0 {
						break
					}
					for _, x := range due {
						got = append(got, name(x))
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("fired %q, want %q", got, want)
				}
			},
			"commit":   func(*rapid.T) { commitTimers(t, s, list); durable = copied(open) },
			"takeover": func(*rapid.T) { list = newTimers(3, s.DB); open = copied(durable) },
			"": func(t *rapid.T) {
				least := int64(never)
				for _, x := range open {
					least = min(least, x.AtMs)
				}
				if next := list.nextMs(); least != never && next > least {
					t.Fatalf("nextMs is %d, and the next timer is due at %d", next, least)
				}
			},
		})
	})
}

// stepper sets a timer of 1.5 s for each record, and records the order of records and timers.
type stepper struct {
	timers stream.Timers
	order  []string
}

func (h *stepper) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		h.order = append(h.order, fmt.Sprintf("record %d", r.Offset))
		h.timers.Set(stream.Timer{Clock: stream.EventTime, AtMs: r.TimeMs + 1500, Key: binary.BigEndian.AppendUint64(nil, uint64(r.Offset))})
	}
	return nil
}

func (h *stepper) OnTimer(nowMs int64, due []stream.Timer) error {
	for _, x := range due {
		h.order = append(h.order, fmt.Sprintf("timer %d at %d", binary.BigEndian.Uint64(x.Key), nowMs))
	}
	return nil
}

func (h *stepper) Flush(stream.Commit, *stream.Changes) error { return nil }

// TestEventTimeIsOfTheRecords: what fires when does not depend on how records are fetched and when
// transactions end.
func TestEventTimeIsOfTheRecords(t *testing.T) {
	s := memoryStore(t)
	proc := stream.Processor{App: "steps", Inputs: []string{"in"}, Changelog: "log", New: func(stream.Task) (stream.Handler, error) { return nil, nil }}
	if err := proc.Complete(); err != nil {
		t.Fatal(err)
	}
	run := func(t interface{ Fatal(args ...any) }, times []int64, cuts map[int]bool) []string {
		if err := s.ClearPartition(1); err != nil {
			t.Fatal(err)
		}
		h := &stepper{timers: newTimers(1, s.DB)}
		list := newTimers(1, s.DB)
		h.timers = list
		k := &task{p: 1, handler: h, timers: list}
		k.trackEventTime(&proc, 0)
		var recs []stream.Record
		flush := func() {
			if len(recs) > 0 {
				if err := k.foldTimed(&stream.Batch{Topic: "in", Partition: 1, Records: recs}, 10); err != nil {
					t.Fatal(err)
				}
			}
			recs = nil
		}
		for i, ms := range times {
			recs = append(recs, stream.Record{Offset: int64(i), TimeMs: ms})
			if cuts[i] {
				flush()
			}
			if cuts[-i] {
				flush()
				commitTimers(t, s, list)
			}
		}
		flush()
		return h.order
	}
	rapid.Check(t, func(t *rapid.T) {
		steps := rapid.SliceOfN(rapid.Int64Range(-300, 1200), 1, 40).Draw(t, "steps")
		now, times := int64(1_000_000), []int64{}
		for _, d := range steps {
			now += d
			times = append(times, now)
		}
		cuts := map[int]bool{}
		for _, c := range rapid.SliceOf(rapid.IntRange(-len(steps), len(steps))).Draw(t, "cuts") {
			cuts[c] = true
		}
		whole, cut := run(t, times, nil), run(t, times, cuts)
		if !slices.Equal(whole, cut) {
			t.Fatalf("in one batch: %q\nin several: %q", whole, cut)
		}
	})
}

// BenchmarkTimers sets and fires timers in transactions of 10,000 on a store in memory. Each timer
// is due in a later transaction.
func BenchmarkTimers(b *testing.B) {
	const each = 10_000
	s := memoryStore(b)
	list := newTimers(0, s.DB)
	b.ReportAllocs()
	fired := 0
	for n := 0; n < b.N; n += each {
		for i := range each {
			list.Set(stream.Timer{AtMs: int64(n + i + each), Key: binary.BigEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15)})
		}
		for {
			due, err := list.due(stream.EventTime, int64(n), fireBatch)
			if err != nil {
				b.Fatal(err)
			}
			if len(due) == 0 {
				break
			}
			fired += len(due)
		}
		commitTimers(b, s, list)
	}
	b.ReportMetric(float64(fired)/b.Elapsed().Seconds(), "fired/s")
}
