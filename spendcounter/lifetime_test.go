package spendcounter

import (
	"bytes"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// retained is a counter of one topic whose rows are kept for a day after the end of their budget
// day.
type retained struct {
	t       testing.TB
	account string // of the next events
	cfg     Config
	s       *store
	c       *Counter
}

func newRetained(t testing.TB) *retained {
	r := &retained{t: t, account: "a", cfg: Config{Shard: anyShard, Hours: true, Retention: 24 * time.Hour, closingRows: 2}, s: newStore()}
	r.c = mustNew(t, r.cfg, r.s)
	return r
}

// event folds an event of a campaign and budget day at a time.
func (r *retained) event(campaign string, day int32, at time.Time) {
	r.t.Helper()
	next := r.s.next[events.EventsTopic]
	b := &stream.Batch{Topic: events.EventsTopic, Partition: 3, Records: []stream.Record{{
		Offset: next, TimeMs: at.UnixMilli(), Value: marshal(r.t, &eventspb.AdEvent{
			EventId: fmt.Sprint(next), Type: eventspb.EventType_EVENT_TYPE_CLICK, Account: r.account, Campaign: campaign, PriceMicros: 10, Currency: "USD",
			BudgetDay: day, EventMs: at.UnixMilli(), IngestMs: at.UnixMilli(),
		}),
	}}}
	if err := r.c.Fold(b); err != nil || len(b.Rejects) > 0 {
		r.t.Fatal(err, b.Rejects)
	}
	r.s.next[events.EventsTopic] = next + 1
}

func (r *retained) flush() { r.s.flush(r.t, r.c, epochMs) }

// settle restarts the counter and commits until no row of a closed day is left.
func (r *retained) settle() {
	r.t.Helper()
	r.c = mustNew(r.t, r.cfg, r.s)
	for range 2 + 16*len(r.s.tables[TableSpend]) {
		r.flush()
	}
	for key := range r.s.tables[TableSpend] {
		if day := events.Day(readTail([]byte(key)) >> 24); day != lifetimeDay && day <= r.c.closing.through {
			r.t.Fatalf("row %q of a closed day is left", key)
		}
	}
}

// charged returns the charged micros by campaign and day.
func (r *retained) charged() map[string]int64 {
	out := map[string]int64{}
	for _, p := range r.s.spends(r.t) {
		for _, by := range p.ByDc {
			out[fmt.Sprint(p.Campaign, " ", p.BudgetDay)] += by.ChargedMicros
		}
	}
	return out
}

func (r *retained) want(what string, want map[string]int64) {
	r.t.Helper()
	if got := r.charged(); !maps.Equal(got, want) {
		r.t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

// TestDaysClose follows campaign days from their rows into the lifetime rows: not before the
// retention is over in the last time zone, in parts, across a restart, with events and refunds that
// come later.
func TestDaysClose(t *testing.T) {
	r := newRetained(t)
	noon := time.Date(2023, 11, 14, 12, 0, 0, 0, time.UTC)
	for _, campaign := range []string{"c1", "c2", "c3"} {
		r.event(campaign, 20231114, noon)
		r.event(campaign, 20231114, noon.Add(time.Hour))
		r.event(campaign, 20231115, noon)
	}
	r.flush()
	end := time.Date(2023, 11, 15, 12, 0, 0, 0, time.UTC) // of 14 November at UTC-12
	r.event("c4", 20231116, end.Add(24*time.Hour-time.Millisecond))
	for range 9 { // until the pass for the day before has ended
		r.flush()
	}
	open := map[string]int64{"c1 20231114": 20, "c1 20231115": 10, "c2 20231114": 20, "c2 20231115": 10, "c3 20231114": 20, "c3 20231115": 10, "c4 20231116": 10}
	r.want("a millisecond before the retention is over", open)
	if n := len(r.s.tables[TableHours]); n != 3 {
		t.Fatalf("%d rows of hours, want 3", n)
	}

	r.event("c4", 20231116, end.Add(24*time.Hour))
	r.flush()
	open["c4 20231116"] += 10
	r.want("in the commit that closes the day", open)
	r.event("c1", 20231114, end.Add(24*time.Hour)) // names the closed day
	r.flush()
	r.want("after a part of the pass", map[string]int64{
		"c1 0": 30, "c1 20231115": 10, "c2 20231114": 20, "c2 20231115": 10, "c3 20231114": 20, "c3 20231115": 10, "c4 20231116": 20,
	})
	r.c = mustNew(t, r.cfg, r.s)
	r.event("c3", 20231113, end.Add(24*time.Hour)) // of a day that never had a row
	for range 5 {
		r.flush()
	}
	all := map[string]int64{"c1 0": 30, "c1 20231115": 10, "c2 0": 20, "c2 20231115": 10, "c3 0": 30, "c3 20231115": 10, "c4 20231116": 20}
	r.want("after the pass", all)
	for key := range r.s.tables[TableHours] {
		if _, _, day, _, _ := ParseKey([]byte(key[:len(key)-hourTail])); day <= 20231114 {
			t.Fatalf("hour %q of a closed day is left", key)
		}
	}
	for key := range r.s.tables[TableRanking] {
		if bytes.HasPrefix([]byte(key), RankingPrefix(20231114)) || bytes.HasPrefix([]byte(key), RankingPrefix(0)) {
			t.Fatalf("ranking %q is of a closed day", key)
		}
	}
	if len(r.s.tables[TableCampaigns]) != 4 {
		t.Fatalf("index rows: %q", r.s.tables[TableCampaigns])
	}
	var task int64
	for _, o := range r.s.taskState(t).Origins {
		task += o.Micros
	}
	if task != 30+10+20+10+30+10+20 {
		t.Fatalf("the task charged %d", task)
	}

	refund := &stream.Batch{Topic: events.AdjustmentsTopic, Partition: 3, Records: []stream.Record{{TimeMs: epochMs, Value: marshal(t, &eventspb.Adjustment{
		ReferenceId: "r", Account: "a", Campaign: "c2", Micros: 99, Currency: "USD", BudgetDay: 20231114, ServingDc: "local", IngestMs: epochMs,
	})}}}
	if err := r.c.Fold(refund); err != nil || len(refund.Rejects) > 0 {
		t.Fatal(err, refund.Rejects)
	}
	r.cfg.Retention = 0 // the closed days stay closed
	r.flush()
	r.c = mustNew(t, r.cfg, r.s)
	r.event("c2", 20231114, end.Add(48*time.Hour))
	r.flush()
	all["c2 0"] += 10
	r.want("without retention", all)
	row := r.s.spends(t)[string(AppendKey(nil, []byte("a"), []byte("c2"), 0, events.Currency('U')<<16|'S'<<8|'D'))]
	if got := row.ByDc[0].RefundedMicros; got != 99 || r.c.Stats().OverRefunds != 0 {
		t.Fatalf("%d micros refunded of the lifetime row, %d over-refunds", got, r.c.Stats().OverRefunds)
	}
}

// TestOriginHoldsDays: a day is not closed while an origin may still send its events in time.
func TestOriginHoldsDays(t *testing.T) {
	r := newRetained(t)
	r.cfg.Inputs.Copied = map[string]string{events.CopiedEventsTopic("b"): "b"}
	r.c = mustNew(t, r.cfg, r.s)
	r.event("c", 20231114, time.UnixMilli(epochMs))
	r.event("c", 20231124, time.UnixMilli(epochMs).Add(240*time.Hour))
	r.flush()
	if day := r.c.closing.through; day != 0 {
		t.Fatalf("%v is closed, and origin b has sent nothing yet", day)
	}
}
