package spendcounter

import (
	"bytes"
	"maps"
	"math/big"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// TestAgainstRecount is the main property: for any logs, interleaving, batches, commits, restarts,
// losses of local tables and cache sizes, the result is that of a simple recount.
func TestAgainstRecount(t *testing.T) {
	for name, sh := range map[string]shape{"restarts": {bad: true}, "steady": {bad: true, steady: true}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				cfg := testConfig()
				cfg.CacheEntries = rapid.SampledFrom([]int{1, 2, 5, 1000}).Draw(t, "cache")
				cfg.MaxIDs = rapid.SampledFrom([]int{2, 9, 30, 1000}).Draw(t, "max ids")
				r := newRun(t, cfg, drawLogs(t, sh))
				r.restarts = true
				r.all()
				r.check()
			})
		})
	}
}

// TestOverflowAgainstRecount has prices of which three or four exceed int64. It has no restarts,
// because a restart may change the reason of a repeated event there.
func TestOverflowAgainstRecount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := testConfig()
		cfg.MaxIDs = rapid.SampledFrom([]int{9, 1000}).Draw(t, "max ids")
		r := newRun(t, cfg, drawLogs(t, shape{huge: true, bad: true}))
		r.all()
		r.check()
	})
}

// TestOverflowAcrossRestarts: near the bound of int64, too, the parts add up to the whole.
func TestOverflowAcrossRestarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(t, testConfig(), drawLogs(t, shape{huge: true}))
		r.restarts = true
		r.all()
		charged, refunded := new(big.Int), new(big.Int)
		for _, p := range r.store.spends(t) {
			for _, by := range p.ByDc {
				charged.Add(charged, big.NewInt(by.ChargedMicros))
				refunded.Add(refunded, big.NewInt(by.RefundedMicros))
			}
		}
		if !charged.IsInt64() || charged.Int64() != r.c.micros || !refunded.IsInt64() || refunded.Int64() != r.c.refundedMicros {
			t.Fatalf("campaigns add up to %d and %d micros, the task has %d and %d", charged, refunded, r.c.micros, r.c.refundedMicros)
		}
		for l, refused := range r.refused {
			for offset, reason := range refused {
				if reason != ReasonOverflow {
					t.Fatalf("%s offset %d: refused %q", l.topic, offset, reason)
				}
			}
		}
	})
}

// TestReplayIsByteEqual folds the same batches with the same commits twice.
func TestReplayIsByteEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawLogs(t, shape{bad: true})
		first := newRun(t, testConfig(), logs)
		var steps []func(r *run)
		for len(steps) < 40 {
			l := rapid.SampledFrom(logs).Draw(t, "topic")
			from := l.after(first.store.next[l.topic])
			if from == len(l.recs) {
				break
			}
			to := from + rapid.IntRange(1, len(l.recs)-from).Draw(t, "batch")
			commit := rapid.Bool().Draw(t, "commit")
			steps = append(steps, func(r *run) {
				r.foldRange(l, from, to)
				if commit {
					r.now += 100
					r.flush()
				}
			})
			steps[len(steps)-1](first)
		}
		second := newRun(t, testConfig(), logs)
		for _, step := range steps {
			step(second)
		}
		for table := range first.store.tables {
			if !maps.EqualFunc(first.store.tables[table], second.store.tables[table], bytes.Equal) {
				t.Fatalf("table %d differs after a replay", table)
			}
		}
		if len(first.store.emitted) != len(second.store.emitted) {
			t.Fatalf("%d outputs, %d in the replay", len(first.store.emitted), len(second.store.emitted))
		}
	})
}

// comparableState returns the state without the fields that depend on commits and batches:
// positions of the writer, and where generations began.
func comparableState(t *rapid.T, s *store) map[string]string {
	out := map[string]string{}
	for key, p := range s.spends(t) {
		p.OwnerEpoch, p.Sequence, p.AsOfOffset = 0, 0, 0
		out[key] = p.String()
	}
	state := s.taskState(t)
	state.Ids, state.Ring = nil, nil
	out["task"] = string(must(proto.MarshalOptions{Deterministic: true}.Marshal(state)))
	return out
}

// TestRefusedLeaveNoTrace folds logs with bad records, and the same logs without them.
func TestRefusedLeaveNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawLogs(t, shape{bad: true, huge: rapid.Bool().Draw(t, "huge")})
		with := newRun(t, testConfig(), logs)
		with.all()
		without := newRun(t, testConfig(), logs)
		for _, f := range with.order {
			if with.refused[f.log][f.log.recs[f.i].Offset] == "" {
				without.foldRange(f.log, f.i, f.i+1)
			}
		}
		without.flush()
		if len(without.order) == 0 {
			if len(with.store.tables[TableSpend])+len(with.store.tables[TableIDs]) > 0 {
				t.Fatalf("refused records left %v", with.store.tables)
			}
			return
		}
		if a, b := comparableState(t, with.store), comparableState(t, without.store); !maps.Equal(a, b) {
			t.Fatalf("with refused records\n%v\nwithout\n%v", a, b)
		}
		if a, b := with.c.Stats(), without.c.Stats(); a.IDs != b.IDs || a.TimestampMs != b.TimestampMs {
			t.Fatalf("with refused records %+v, without %+v", a, b)
		}
	})
}

// TestTopicsCommute folds logs without common ids in two interleavings.
func TestTopicsCommute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawLogs(t, shape{disjoint: true, bad: true})
		cfg := testConfig()
		cfg.DuplicateWindow = time.Hour // a rotation between two copies of an id depends on the other topics' clocks
		one, two := newRun(t, cfg, logs), newRun(t, cfg, logs)
		one.all()
		two.all()
		if len(one.order) == 0 {
			return
		}
		if a, b := comparableState(t, one.store), comparableState(t, two.store); !maps.Equal(a, b) {
			t.Fatalf("one interleaving\n%v\nthe other\n%v", a, b)
		}
	})
}

// TestReadErrorsStop: after a failed read of the state, every call of the counter fails.
func TestReadErrorsStop(t *testing.T) {
	good := &eventspb.AdEvent{
		EventId: "e", Type: 1, Account: "a", Campaign: "c", PriceMicros: 5, Currency: "USD",
		BudgetDay: 20240101, IngestMs: epochMs,
	}
	key := AppendKey(nil, []byte("c"), []byte("a"), 20240101, 'U'<<16|'S'<<8|'D')
	spend := func(change func(*eventspb.Spend)) []byte {
		p := &eventspb.Spend{Account: "a", Campaign: "c", BudgetDay: 20240101, Currency: "USD"}
		change(p)
		return marshal(t, p)
	}
	for name, value := range map[string][]byte{
		"not protobuf": {0xff},
		"another key":  spend(func(p *eventspb.Spend) { p.Campaign = "d" }),
		"bad currency": spend(func(p *eventspb.Spend) { p.Currency = "?" }),
		"negative":     spend(func(p *eventspb.Spend) { p.ByDc = []*eventspb.SpendByDC{{ServingDc: "x", ChargedMicros: -1}} }),
		"above the task's sum": spend(func(p *eventspb.Spend) {
			p.ByDc = []*eventspb.SpendByDC{{ServingDc: "x", ChargedMicros: 1}}
		}),
		"newer type": spend(func(p *eventspb.Spend) {
			p.ByDc = []*eventspb.SpendByDC{{ServingDc: "x", Events: []*eventspb.TypeCount{{Type: 14, Count: 1}}}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			s.tables[TableSpend] = map[string][]byte{string(key): value}
			c := mustNew(t, Config{}, s)
			b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, Records: []stream.Record{{Value: marshal(t, good), TimeMs: epochMs}}}
			err := c.Fold(b)
			if err == nil || len(b.Rejects) > 0 {
				t.Fatalf("error %v, rejects %v", err, b.Rejects)
			}
			var ch stream.Changes
			if again := c.Flush(s.commit(epochMs), &ch); again == nil || len(ch.List) > 0 {
				t.Fatalf("flush after %q: error %v, %d changes", err, again, len(ch.List))
			}
			if again := c.Fold(&stream.Batch{Topic: events.EventsTopic, Partition: 3}); again == nil {
				t.Fatal("a broken counter continues to fold")
			}
		})
	}
}

func TestWrongWiringIsAnError(t *testing.T) {
	for name, b := range map[string]*stream.Batch{
		"topic":     {Topic: "other", Partition: 3},
		"partition": {Topic: events.EventsTopic, Partition: 4},
	} {
		if err := mustNew(t, Config{}, newStore()).Fold(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
