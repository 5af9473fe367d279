package spendcounter

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// refundOf folds an adjustment of account a1 with reference r1 at a time, after a change.
func refundOf(t *testing.T, c *Counter, s *store, ms int64, change func(a *eventspb.Adjustment)) {
	t.Helper()
	a := goodAdjustment()
	a.IngestMs = ms
	change(a)
	b := &stream.Batch{Topic: events.AdjustmentsTopic, Partition: 3, NowMs: ms, Records: []stream.Record{{
		Value: marshal(t, a), Offset: s.next[events.AdjustmentsTopic], TimeMs: ms,
	}}}
	if err := c.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, b.Rejects)
	}
	s.next[events.AdjustmentsTopic]++
}

func appliedR1(t *testing.T, s *store) *spendpb.AppliedAdjustment {
	t.Helper()
	m, err := ParseReference(s.tables[TableReferences]["a1\x00r1"])
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestReferenceCountsOnceForEver: a reference is known after restarts without local tables and
// after years, and the row counts what arrived under it.
func TestReferenceCountsOnceForEver(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	refundOf(t, c, s, epochMs, func(a *eventspb.Adjustment) { a.Reason = "refund" })
	same := func(*eventspb.Adjustment) {}
	for _, x := range []struct {
		later  int64
		change func(a *eventspb.Adjustment)
	}{
		{0, same}, // in the same transaction
		{30 * 60_000, same},
		{400 * dayMs, same},
		{400 * dayMs, func(a *eventspb.Adjustment) { a.Micros = 6 }},
		{400 * dayMs, func(a *eventspb.Adjustment) { a.Campaign = "c2" }},
		{400 * dayMs, func(a *eventspb.Adjustment) { a.BudgetDay = 20231116 }},
		{400 * dayMs, func(a *eventspb.Adjustment) { a.Currency = "EUR" }},
		{400 * dayMs, func(a *eventspb.Adjustment) { a.ServingDc = otherDC }},
	} {
		if x.later > 0 {
			s.flush(t, c, epochMs+x.later)
			s.localNext = nil
			c = mustNew(t, testConfig(), s)
		}
		refundOf(t, c, s, epochMs+x.later, x.change)
	}
	s.flush(t, c, epochMs)
	want := &spendpb.AppliedAdjustment{
		Campaign: "c1", BudgetDay: 20231115, Currency: "USD", Micros: 5, ServingDc: ownDC, Reason: "refund", IngestMs: epochMs, Duplicates: 8, Conflicts: 5,
	}
	if got := appliedR1(t, s); !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if state := s.taskState(t); state.RefundedMicros != 5 || state.Refunds != 1 || state.Duplicates != 8 || state.Conflicts != 5 {
		t.Errorf("task record %v", state)
	}
	refundOf(t, c, s, epochMs, func(a *eventspb.Adjustment) { a.ReferenceId = "r2" })
	if c.refundedMicros != 10 {
		t.Errorf("%d micros refunded with a second reference", c.refundedMicros)
	}
}

// TestOverRefunds: a refund above the charges of its campaign day is applied and counted. The
// charges of all serving datacentres count, those of other days and currencies do not.
func TestOverRefunds(t *testing.T) {
	s := newStore()
	c := mustNew(t, testConfig(), s)
	for i, serving := range []string{ownDC, otherDC} {
		e := goodEvent()
		e.EventId, e.ServingDc, e.PriceMicros, e.BudgetDay = serving, serving, int64(10*(i+1)), 20231115
		feed(t, c, s, events.EventsTopic, epochMs, epochMs, e)
		e.BudgetDay, e.EventId = 20231116, "tomorrow "+serving
		feed(t, c, s, events.EventsTopic, epochMs, epochMs, e)
	}
	for i, x := range []struct {
		micros int64
		change func(a *eventspb.Adjustment)
		over   uint64
	}{
		{29, func(a *eventspb.Adjustment) { a.ServingDc = "zz" }, 0},
		{1, func(*eventspb.Adjustment) {}, 0},
		{1, func(*eventspb.Adjustment) {}, 1},
		{1, func(a *eventspb.Adjustment) { a.ReferenceId = "0" }, 1}, // a duplicate
		{1, func(a *eventspb.Adjustment) { a.Currency = "EUR" }, 2},
		{30, func(a *eventspb.Adjustment) { a.BudgetDay = 20231116 }, 2},
		{1, func(a *eventspb.Adjustment) { a.Campaign = "never charged" }, 3},
	} {
		refundOf(t, c, s, epochMs, func(a *eventspb.Adjustment) {
			a.ReferenceId, a.Micros = string(rune('0'+i)), x.micros
			x.change(a)
		})
		if got := c.Stats().OverRefunds; got != x.over {
			t.Fatalf("refund %d: %d over-refunds, want %d", i, got, x.over)
		}
		s.flush(t, c, epochMs)
		c = mustNew(t, testConfig(), s)
	}
	if c.refundedMicros != 63 {
		t.Errorf("%d micros refunded", c.refundedMicros)
	}
}

// TestTornReference: a value that is not an adjustment stops the counter.
func TestTornReference(t *testing.T) {
	s := newStore()
	s.tables[TableReferences] = map[string][]byte{"a1\x00r1": []byte("torn")}
	if err := mustNew(t, testConfig(), s).Fold(&stream.Batch{Topic: events.AdjustmentsTopic, Partition: 3, Records: []stream.Record{{
		Value: marshal(t, goodAdjustment()), Offset: 9, TimeMs: epochMs,
	}}}); err == nil {
		t.Error("a torn value is read")
	}
}

// FuzzParseReference: any value is read or refused, and what is read is shown as JSON.
func FuzzParseReference(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 8))
	f.Add(marshal(f, &spendpb.AppliedAdjustment{Campaign: "c", BudgetDay: 20231115, Currency: "USD", Micros: 1, ServingDc: ownDC}))
	f.Fuzz(func(t *testing.T, value []byte) {
		m, err := ParseReference(value)
		if err == nil && m.Campaign == "" {
			t.Fatalf("%x has no campaign", value)
		}
		if _, shown := referenceJSON(value); (err == nil) != (shown == nil) {
			t.Fatalf("%x: %v, shown with %v", value, err, shown)
		}
	})
}
