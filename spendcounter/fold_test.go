package spendcounter

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
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
				cfg.Hours = rapid.Bool().Draw(t, "hours")
				cfg.Parts = rapid.SampledFrom([]int{0, 1, 3, 100}).Draw(t, "parts")
				if rapid.IntRange(0, 3).Draw(t, "keep") == 0 {
					cfg.Retention = 0
				}
				cfg.RejectLate = rapid.Bool().Draw(t, "reject late")
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
		if !slices.Equal(first.store.healths, second.store.healths) {
			t.Fatalf("%d health rows, %d in the replay, or others", len(first.store.healths), len(second.store.healths))
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
	for key, value := range s.tables[TableReferences] {
		out["reference "+key] = string(value)
	}
	out[overRefunds] = fmt.Sprint(state.OverRefunds)
	state.LateBeforeMs, state.Ring, state.OverRefunds = 0, nil, 0
	out["task"] = string(must(proto.MarshalOptions{Deterministic: true}.Marshal(state)))
	return out
}

// overRefunds is the key of the only figure that depends on the order of topics without common ids:
// a refund may come before the charge.
const overRefunds = "over-refunds"

// withoutPositions removes the positions in the origins, and what is counted by them, from the
// state: a rejected copy advances them.
func withoutPositions(state map[string]string) map[string]string {
	task := &spendpb.TaskState{}
	if err := proto.Unmarshal([]byte(state["task"]), task); err != nil {
		panic(err)
	}
	for _, o := range task.Origins {
		o.Applied, o.AppliedAdjustments, o.Lost, o.Rejected, o.TransportDuplicates = nil, nil, 0, 0, 0
		if o.Minute != nil {
			o.Minute.Lost, o.Minute.Rejected = 0, 0
		}
	}
	state["task"] = task.String()
	return state
}

// TestRefusedLeaveNoTrace folds logs with bad records, and the same logs without them and without
// copies that arrive again.
func TestRefusedLeaveNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := drawLogs(t, shape{bad: true, huge: rapid.Bool().Draw(t, "huge")})
		cfg := testConfig()
		if rapid.Bool().Draw(t, "keep") {
			cfg.Retention = 0
		}
		with := newRun(t, cfg, logs)
		with.all()
		without := newRun(t, cfg, logs)
		positions := newRecount(cfg)
		for _, f := range with.order {
			rec := &f.log.recs[f.i]
			again := f.log.copied && !positions.copy(f.log.dc, rec)
			if with.refused[f.log][rec.Offset] == "" && !again {
				without.foldRange(f.log, f.i, f.i+1)
			}
		}
		without.flush()
		without.settle()
		if len(without.order) == 0 {
			if len(with.store.tables[TableSpend])+len(with.store.tables[TableIDs]) > 0 {
				t.Fatalf("refused records left %v", with.store.tables)
			}
			return
		}
		a, b := withoutPositions(comparableState(t, with.store)), withoutPositions(comparableState(t, without.store))
		if cfg.Retention > 0 { // a day is closed by a commit
			delete(a, overRefunds)
			delete(b, overRefunds)
		}
		if !maps.Equal(a, b) {
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
		one, two := newRun(t, cfg, logs), newRun(t, cfg, logs)
		one.all()
		two.all()
		if len(one.order) == 0 {
			return
		}
		a, b := comparableState(t, one.store), comparableState(t, two.store)
		delete(a, overRefunds)
		delete(b, overRefunds)
		if !maps.Equal(a, b) {
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
	key := AppendKey(nil, []byte("a"), []byte("c"), 20240101, 'U'<<16|'S'<<8|'D')
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
			other := AppendKey(nil, []byte("a"), []byte("other"), 20240101, usd) // the day's ranking is not empty
			s.tables[TableSpend] = map[string][]byte{string(key): value, string(other): spend(func(p *eventspb.Spend) { p.Campaign = "other" })}
			s.tables[TableRanking] = map[string][]byte{string(appendRankingKey(nil, readTail(other), []byte("a\x00other"))): {3}}
			c := mustNew(t, Config{}, s)
			b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, Records: []stream.Record{{Value: marshal(t, good), TimeMs: epochMs}}}
			if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
				t.Fatalf("error %v, rejects %v", err, b.Rejects)
			}
			for range 2 {
				var ch stream.Changes
				if err := c.Flush(s.commit(epochMs), &ch); err == nil || len(ch.List) > 0 {
					t.Fatalf("flush: error %v, %d changes", err, len(ch.List))
				}
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
