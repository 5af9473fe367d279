package spendcounter

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// promote makes the state of replay that of live, as processors/offline does: of each key whose
// canonical form differs, in the order of keys.
func promote(t *testing.T, account string, live, replay *store, c stream.Commit) {
	t.Helper()
	p, err := ProcessorConfig{DC: ownDC}.Promotion(account, live.task().Get, c)
	if err != nil {
		t.Fatal(err)
	}
	var ch stream.Changes
	for table := TableSpend; table < stream.FirstLocalTable; table++ {
		keys := maps.Clone(live.tables[table])
		if keys == nil {
			keys = map[string][]byte{}
		}
		maps.Copy(keys, replay.tables[table])
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			key, was, is := []byte(k), live.tables[table][k], replay.tables[table][k]
			if (was == nil) == (is == nil) && bytes.Equal(Canonical(table, key, was), Canonical(table, key, is)) {
				continue
			}
			take, err := p.Take(table, key, was, is)
			if err != nil {
				t.Fatal(err)
			}
			if !take {
				continue
			}
			if is == nil {
				ch.Delete(table, key)
				continue
			}
			if is, err = p.Rewrite(table, key, is); err != nil {
				t.Fatal(err)
			}
			ch.Put(table, key, is)
		}
	}
	if len(ch.List) > 0 {
		if err := p.Finish(&ch); err != nil {
			t.Fatal(err)
		}
	}
	live.apply(&ch)
	live.localNext = nil
}

// charge folds one event of account on day, which costs micros.
func charge(t *testing.T, s *store, account string, day events.Day, micros int64) {
	t.Helper()
	c := mustNew(t, testConfig(), s)
	e := eventAt(int(s.next[events.EventsTopic]), epochMs)
	e.Account, e.BudgetDay, e.PriceMicros = account, int32(day), micros
	feed(t, c, s, events.EventsTopic, epochMs, epochMs, e)
	s.flush(t, c, epochMs)
}

// correctionsOf returns the numbers of corrections in the records of a store.
func correctionsOf(t *testing.T, s *store) map[string]uint32 {
	out := map[string]uint32{}
	for _, p := range s.spends(t) {
		out[fmt.Sprint(p.Account, " ", p.BudgetDay)] = p.Corrections
	}
	return out
}

// TestCorrections: the records that a promotion changes have one more correction, and keep it when
// the counter changes them. Records of other accounts and of later days have not. A merge with the
// greater sum of another datacentre, which was not corrected, returns the corrected sum.
func TestCorrections(t *testing.T) {
	day := events.UTCDay(epochMs)
	later := events.UTCDay(epochMs + 3*dayMs)
	live, replay := newStore(), newStore()
	for _, s := range []*store{live, replay} {
		charge(t, s, "a", day, 5)
		charge(t, s, "b", day, 5)
		charge(t, s, "c", day, 5)
	}
	for _, account := range []string{"a", "b"} {
		charge(t, live, account, day, 100) // by mistake
	}
	other := maps.Clone(live.spends(t)) // another datacentre, with the same mistake
	expect := func(what string, want map[string]uint32) {
		t.Helper()
		if got := correctionsOf(t, live); !maps.Equal(got, want) {
			t.Fatalf("%s: the corrections are %v, want %v", what, got, want)
		}
	}
	name := func(account string, day events.Day) string { return fmt.Sprint(account, " ", int32(day)) }
	commit := stream.Commit{NowMs: epochMs, Incarnation: 1, OwnerEpoch: 8, Sequence: 100}
	a, b, c := name("a", day), name("b", day), name("c", day)

	promote(t, "a", live, replay, commit)
	expect("after the promotion of a", map[string]uint32{a: 1, b: 0, c: 0})
	for key, s := range live.spends(t) {
		if merged, right := events.MergeSpend(other[key], s), s.Account == "a"; (merged.ByDc[0].ChargedMicros == 5) != (right || s.Account == "c") {
			t.Errorf("merged with the other datacentre: %v", merged)
		}
	}
	promote(t, "a", live, replay, commit)
	expect("after the same again", map[string]uint32{a: 1, b: 0, c: 0})
	charge(t, live, "a", day, 1)
	charge(t, live, "a", later, 1)
	charge(t, live, "b", day, 1)
	expect("after further events", map[string]uint32{a: 1, b: 0, c: 0, name("a", later): 0})
	for _, s := range []string{"a", "b"} {
		charge(t, replay, s, day, 1)
	}
	charge(t, replay, "a", later, 1)

	promote(t, "", live, replay, commit)
	expect("after the promotion of all", map[string]uint32{a: 1, b: 1, c: 0, name("a", later): 0})
	for _, account := range []string{"a", "b", "c"} {
		charge(t, live, account, day, 1)
	}
	expect("after further events", map[string]uint32{a: 2, b: 1, c: 1, name("a", later): 0})
	if s := live.spends(t); len(s) != 4 || sumOf(s) != 7+7+6+1 {
		t.Errorf("%v", s)
	}
}

func sumOf(list map[string]*eventspb.Spend) (sum int64) {
	for _, s := range list {
		sum += s.ByDc[0].ChargedMicros
	}
	return sum
}

// TestCorrectionWithoutTaskRecord: a promotion that moves charges between campaigns changes no sum
// of the task record. The correction is in it all the same.
func TestCorrectionWithoutTaskRecord(t *testing.T) {
	day := events.UTCDay(epochMs)
	live, replay := newStore(), newStore()
	charge(t, live, "a", day, 5)
	charge(t, replay, "b", day, 5)
	promote(t, "", live, replay, stream.Commit{NowMs: epochMs, OwnerEpoch: 8, Sequence: 100})
	charge(t, live, "b", day, 1)
	if got := correctionsOf(t, live); len(got) != 1 || got[fmt.Sprint("b ", int32(day))] != 1 {
		t.Errorf("the corrections are %v", got)
	}
}

// TestPromotionOfClosedDays: with hours and lifetime rows, wherever the passes of both counters
// are, a promotion makes the rows those of the replay, and leaves the rows of other accounts.
func TestPromotionOfClosedDays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tb := rapidTB{t, rt}
		live, replay := newRetained(tb), newRetained(tb)
		noon := time.Date(2023, 11, 14, 12, 0, 0, 0, time.UTC)
		fold := func(what string, counters ...*retained) {
			for _, r := range counters {
				r.cfg.DC, r.cfg.ranking = ownDC, 2
				r.c = mustNew(tb, r.cfg, r.s)
			}
			for i := range rapid.IntRange(0, 12).Draw(rt, what) {
				account := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "account")
				campaign, day := fmt.Sprint("c", rapid.IntRange(0, 2).Draw(rt, "campaign")), rapid.Int32Range(20231113, 20231117).Draw(rt, "day")
				hour := time.Duration(rapid.IntRange(0, 3).Draw(rt, "hour")) * time.Hour
				for _, r := range counters {
					r.account = account
					r.event(campaign, day, noon.Add(hour))
					if i%3 == 0 {
						r.flush()
					}
				}
			}
		}
		fold("events", live, replay)
		fold("mistakes", live)
		for _, r := range []*retained{live, replay} { // 15 November is closed
			r.account = "b"
			r.event("c0", 20231117, noon.Add(4*24*time.Hour))
			for range rapid.IntRange(1, 9).Draw(rt, "commits") {
				r.flush()
			}
		}
		fold("late mistakes", live)
		live.flush()
		replay.flush()
		account := rapid.SampledFrom([]string{"", "a"}).Draw(rt, "promoted account")
		before := live.rowsOf("b")
		promote(t, account, live.s, replay.s, stream.Commit{NowMs: epochMs, Incarnation: 1, OwnerEpoch: 8, Sequence: 100, Next: live.s.next})
		if now := live.rowsOf("b"); account == "a" && !maps.Equal(now, before) {
			rt.Fatalf("the rows of account b are\n%q\nand were\n%q", now, before)
		}
		for range 2 {
			live.settle()
			replay.settle()
			if a, b := live.rowsOf("a"), replay.rowsOf("a"); !maps.Equal(a, b) {
				rt.Fatalf("account a has\n%q\nthe replay\n%q", a, b)
			}
			if a, b := canonicalForms(live.s), canonicalForms(replay.s); account == "" && !maps.Equal(a, b) {
				rt.Fatalf("live has\n%q\nthe replay\n%q", a, b)
			}
			live.checkSums()
			fold("events after it", live, replay)
		}
	})
}

// rowsOf returns the canonical rows of an account.
func (r *retained) rowsOf(account string) map[string]string {
	out := map[string]string{}
	for _, table := range []byte{TableSpend, TableHours, TableParts, TableReferences} {
		for key, value := range r.s.tables[table] {
			if strings.HasPrefix(key, account+"\x00") {
				out[fmt.Sprint(table, key)] = string(Canonical(table, []byte(key), value))
			}
		}
	}
	return out
}

// checkSums compares the task record with the rows, and the rankings.
func (r *retained) checkSums() {
	r.t.Helper()
	var rows, task int64
	for _, p := range r.s.spends(r.t) {
		rows += sumsOf(p).micros
	}
	for _, o := range r.s.taskState(r.t).Origins {
		task += o.Micros
	}
	if rows != task {
		r.t.Fatalf("the rows have %d micros, the task record %d", rows, task)
	}
	checkRanking(r.t, r.s, 2)
}

func TestCorrectionsOfParts(t *testing.T) {
	all := func(day int32) *spendpb.Correction { return &spendpb.Correction{UntilDay: day} }
	one := corrections{all(20240101), all(20240101), {Account: "a", UntilDay: 20240102}}
	other := corrections{all(20240101), all(20240105)}
	for _, list := range []corrections{one.union(other), other.union(one)} {
		if len(list) != 4 || list.of([]byte("a"), 20240101) != 4 || list.of([]byte("b"), 20240102) != 1 {
			t.Errorf("%v", list)
		}
	}
}
