package spendcounter

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// rankingOf returns the keys that table TableRanking has to have: it sorts all campaign days.
func rankingOf(spends map[string]*eventspb.Spend, size int) map[string]orderSet {
	byTail := map[uint64][]*ranked{}
	for key, p := range spends {
		if p.BudgetDay == 0 {
			continue
		}
		s := sumsOf(p)
		tail := readTail([]byte(key))
		byTail[tail] = append(byTail[tail], &ranked{ids: p.Account + "\x00" + p.Campaign, figures: figures{uint64(s.micros), s.count}})
	}
	want := map[string]orderSet{}
	for tail, list := range byTail {
		for o := range orders {
			slices.SortFunc(list, func(a, b *ranked) int { return a.before(b, o) })
			for _, m := range list[:min(size, len(list))] {
				key := string(appendRankingKey(nil, tail, []byte(m.ids)))
				want[key] = want[key].with(o)
			}
		}
	}
	return want
}

// checkRanking compares the table of the rankings with a sort of all campaign days, and the totals
// with their sums.
func checkRanking(t fataler, s *store, size int) {
	t.Helper()
	totals, sum := map[string]string{}, map[string]*spendpb.Total{}
	for key, value := range s.tables[TableTotals] {
		totals[key] = string(value)
	}
	for key, p := range s.spends(t) {
		if p.BudgetDay == 0 {
			continue
		}
		tail := key[len(key)-keyTail:]
		if sum[tail] == nil {
			sum[tail] = &spendpb.Total{}
		}
		of := sumsOf(p)
		sum[tail].ChargedMicros += of.micros
		sum[tail].RefundedMicros += of.refunded
		sum[tail].Events += of.count
	}
	for tail, m := range sum {
		if value, ok := totals[tail]; !ok || value != string(must(proto.Marshal(m))) {
			t.Fatalf("total of %q is %x, the rows add up to %v", tail, value, m)
		}
	}
	if len(totals) != len(sum) {
		t.Fatalf("totals of %q, and rows of %d days and currencies", totals, len(sum))
	}
	got, want := map[string]orderSet{}, rankingOf(s.spends(t), size)
	for key, value := range s.tables[TableRanking] {
		got[key] = orderSetOf(value)
		if len(value) != 1 || InRanking(value, ByEvents) != (got[key] >= 2) {
			t.Fatalf("ranking key %q has value %x", key, value)
		}
	}
	if !maps.Equal(got, want) {
		t.Fatalf("ranking of %d:\ngot  %q\nwant %q", size, got, want)
	}
}

// TestRankings charges many campaigns of a few days and currencies, some often. Rankings are
// dropped from memory, read again, and made again from the campaign days, and always have the
// greatest campaigns.
func TestRankings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{DC: ownDC, Shard: anyShard, CacheEntries: rapid.IntRange(1, 100).Draw(t, "cache"), ranking: rapid.IntRange(1, 3).Draw(t, "size")}
		s := newStore()
		c, n := mustNew(t, cfg, s), 0
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: epochMs}
			for range rapid.IntRange(0, 150).Draw(t, "events") {
				e := eventAt(n, epochMs)
				campaign := rapid.IntRange(0, 60).Draw(t, "campaign")
				e.Account, e.Campaign = fmt.Sprint("a", campaign%7), fmt.Sprint("c", campaign)
				e.PriceMicros, e.BudgetDay = rapid.Int64Range(0, 3).Draw(t, "price"), 20240101+int32(campaign%2)
				e.ServingDc = []string{"", "b"}[n%2]
				b.Records = append(b.Records, stream.Record{Value: must(proto.Marshal(e)), Offset: int64(n), TimeMs: epochMs})
				n++
			}
			if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
				t.Fatal(err, b.Rejects)
			}
			s.next[b.Topic] = int64(n)
			s.flush(t, c, epochMs)
			checkRanking(t, s, cfg.ranking)
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0:
				clear(c.rankings.list)
				c.rankings.found = nil
			case 1:
				c = mustNew(t, cfg, s)
			case 2: // as after a promotion: the rows are of other figures
				if state := s.taskState(t); n > 0 {
					state.Unranked = true
					s.tables[TableTask][TaskKey] = must(proto.Marshal(state))
					clear(s.tables[TableRanking])
					s.tables[TableTotals] = map[string][]byte{string(appendTail(nil, 5, 6)): {8, 1}}
					s.tables[TableRanking] = map[string][]byte{string(appendRankingKey(nil, 5, []byte("a\x00gone"))): {1}}
					c = mustNew(t, cfg, s)
					s.flush(t, c, epochMs)
					checkRanking(t, s, cfg.ranking)
					if s.taskState(t).Unranked {
						t.Fatal("the task record still asks for rankings")
					}
				}
			}
		}
	})
}

// TestRankingIsReadOnce: a commit reads nothing for a ranking that is in memory, and no campaign
// day of a budget day that begins.
func TestRankingIsReadOnce(t *testing.T) {
	s := newStore()
	c := mustNew(t, Config{}, s)
	for i := range 3 {
		b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, NowMs: epochMs}
		b.Records = []stream.Record{{Value: marshal(t, eventAt(i, epochMs)), Offset: int64(i), TimeMs: epochMs}}
		if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
			t.Fatal(err, b.Rejects)
		}
		gets := s.gets
		if s.flush(t, c, epochMs); s.gets != gets {
			t.Errorf("commit %d: %d reads", i, s.gets-gets)
		}
	}
}

func TestRankingKeys(t *testing.T) {
	key := AppendKey(nil, []byte("acme"), []byte("spring"), 20240131, usd)
	r := appendRankingKey(nil, readTail(key), []byte("acme\x00spring"))
	if got, err := ParseRankingKey(r); err != nil || !bytes.Equal(got, key) || !bytes.HasPrefix(r, RankingPrefix(20240131)) {
		t.Errorf("%q of %q: %v", got, r, err)
	}
	for _, bad := range [][]byte{nil, r[:6], r[:8], append(bytes.Clone(r), 0)} {
		if _, err := ParseRankingKey(bad); err == nil {
			t.Errorf("%q is not a ranking key", bad)
		}
	}
}
