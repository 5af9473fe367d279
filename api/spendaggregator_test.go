package api

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// recount is the simple implementation: one account and currency, big integers, no checks.
type recount struct {
	charged, refunded, events, duplicates *big.Int
	byDC                                  map[string]*big.Int
	byType                                map[string]*big.Int
	days                                  map[int32]bool
	eventMs                               int64
}

func dumb(records []*eventspb.Spend, day int32) recount {
	c := recount{new(big.Int), new(big.Int), new(big.Int), new(big.Int), map[string]*big.Int{}, map[string]*big.Int{}, map[int32]bool{}, 0}
	add := func(m map[string]*big.Int, k string, v *big.Int) {
		if m[k] == nil {
			m[k] = new(big.Int)
		}
		m[k].Add(m[k], v)
	}
	for _, r := range records {
		if day != 0 && r.GetBudgetDay() != day {
			continue
		}
		c.days[r.GetBudgetDay()] = true
		c.eventMs = max(c.eventMs, r.GetAsOfMs())
		c.duplicates.Add(c.duplicates, new(big.Int).SetUint64(r.GetDuplicates()))
		for _, dc := range r.GetByDc() {
			c.charged.Add(c.charged, big.NewInt(dc.GetChargedMicros()))
			c.refunded.Add(c.refunded, big.NewInt(dc.GetRefundedMicros()))
			add(c.byDC, dc.GetServingDc(), big.NewInt(dc.GetChargedMicros()))
			for _, e := range dc.GetEvents() {
				n := new(big.Int).SetUint64(e.GetCount())
				c.events.Add(c.events, n)
				add(c.byType, typeName(e.GetType()), n)
			}
		}
	}
	return c
}

func (c recount) fits() bool {
	return c.charged.IsInt64() && c.refunded.IsInt64() && c.events.IsUint64() && c.duplicates.IsUint64()
}

// TestAggregatorAgainstRecount compares answers with the simple implementation. If a sum does not
// fit, there must be an error, and never a wrapped sum.
func TestAggregatorAgainstRecount(t *testing.T) {
	overflows := 0
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.OneOf(rapid.Int64Range(0, 1e9), rapid.Int64Range(0, math.MaxInt64))
		counts := rapid.OneOf(rapid.Uint64Range(0, 1e6), rapid.Uint64Range(0, 1e6), rapid.Uint64())
		days := rapid.SliceOfNDistinct(rapid.Int32Range(20130101, 20130131), 1, 6, rapid.ID[int32]).Draw(t, "days")
		var records []*eventspb.Spend
		for _, d := range days {
			r := &eventspb.Spend{
				Account: "a1", Campaign: "c1", BudgetDay: d, Currency: "CNY",
				Duplicates: counts.Draw(t, "duplicates"), AsOfMs: rapid.Int64Range(1, 1e13).Draw(t, "ms"),
			}
			for _, dc := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"east", "local", "west"}), rapid.ID[string]).Draw(t, "dcs") {
				by := &eventspb.SpendByDC{ServingDc: dc, ChargedMicros: micros.Draw(t, "charged"), RefundedMicros: micros.Draw(t, "refunded")}
				for _, ty := range rapid.SliceOfNDistinct(rapid.Int32Range(1, 20), 0, 3, rapid.ID[int32]).Draw(t, "types") {
					by.Events = append(by.Events, &eventspb.TypeCount{Type: eventspb.EventType(ty), Count: counts.Draw(t, "count")})
				}
				r.ByDc = append(r.ByDc, by)
			}
			records = append(records, r)
		}
		q := spendQuery{campaign: "c1", day: rapid.SampledFrom(append(slices.Clone(days), 0)).Draw(t, "day")}
		want := dumb(records, q.day)
		ta := newSpendAggregator(q)
		for _, r := range records {
			if err := ta.add(r, &weirpb.AsOf{Partition: 5}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := ta.answer()
		if !want.fits() {
			overflows++
			if connect.CodeOf(err) != connect.CodeOutOfRange {
				t.Fatalf("a sum that does not fit: %v, %v", got, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		compare(t, want, got)
	})
	t.Logf("%d sums overflowed", overflows) // by chance; TestSumThatDoesNotFit tests the bound
}

func compare(t *rapid.T, want recount, got *weirpb.GetSpendResponse) {
	if got.GetChargedMicros() != want.charged.Int64() || got.GetRefundedMicros() != want.refunded.Int64() ||
		got.GetEvents() != want.events.Uint64() || got.GetDuplicates() != want.duplicates.Uint64() ||
		got.GetAsOf().GetEventMs() != want.eventMs || len(got.GetDays()) != len(want.days) {
		t.Fatalf("got %v, want %+v", got, want)
	}
	if len(got.GetByDc()) != len(want.byDC) || len(got.GetEventsByType()) != len(want.byType) {
		t.Fatalf("got %v, want %+v", got, want)
	}
	for _, dc := range got.GetByDc() {
		if dc.GetChargedMicros() != want.byDC[dc.GetServingDc()].Int64() {
			t.Fatalf("%v, want %v", dc, want.byDC)
		}
	}
	for name, n := range got.GetEventsByType() {
		if n != want.byType[name].Uint64() {
			t.Fatalf("%s: %d, want %v", name, n, want.byType[name])
		}
	}
	byDay := new(big.Int)
	for _, d := range got.GetDays() {
		byDay.Add(byDay, big.NewInt(d.GetChargedMicros()))
	}
	if byDay.Cmp(want.charged) != 0 || !slices.IsSortedFunc(got.GetDays(), func(a, b *weirpb.DaySpend) int {
		if a.GetDay() < b.GetDay() {
			return -1
		}
		return 1
	}) {
		t.Fatalf("days %v, want a sum of %v in order", got.GetDays(), want.charged)
	}
}

func TestTypeName(t *testing.T) {
	for ty, want := range map[int32]string{1: "impression", 2: "click", 3: "video_view", 0: "unspecified", 77: "type_77"} {
		if got := typeName(eventspb.EventType(ty)); got != want {
			t.Errorf("typeName(%d) = %s, want %s", ty, got, want)
		}
	}
}

func TestErrorListsAreBounded(t *testing.T) {
	e := &PartitionsError{}
	var names []string
	var read []*weirpb.AsOf
	for i := range 10_000 {
		e.Gaps = append(e.Gaps, PartitionGap{Partition: int32(2 * i), State: "restoring"})
		names = append(names, "campaign")
		read = append(read, &weirpb.AsOf{Partition: int32(i)})
	}
	each := &PartitionsError{}
	for _, g := range e.Gaps {
		g.Reason = fmt.Sprint("because ", g.Partition)
		each.Gaps = append(each.Gaps, g)
	}
	for text, want := range map[string]string{
		e.Error(): "20, 22 and 9988 more are restoring", each.Error(): "partition 6 is restoring (because 6), and partitions with 9996 more reasons", listed(names): " more",
	} {
		if len(text) > 500 || !strings.HasSuffix(text, want) {
			t.Errorf("%d bytes: %.600s", len(text), text)
		}
	}
	var coded *connect.Error = connect.NewError(connect.CodeNotFound, e)
	if err := withAsOf(coded, read); err != coded || len(coded.Details()) != 32 {
		t.Errorf("%d details, want 32", len(coded.Details()))
	}
}

// TestSumThatDoesNotFit tests the bound that TestAggregatorAgainstRecount reaches only by chance.
func TestSumThatDoesNotFit(t *testing.T) {
	most := &eventspb.Spend{
		Account: "a", Campaign: "c", Currency: "USD", BudgetDay: 20260101,
		ByDc: []*eventspb.SpendByDC{{ServingDc: "x", ChargedMicros: math.MaxInt64}},
	}
	more := proto.CloneOf(most)
	more.BudgetDay, more.ByDc[0].ChargedMicros = 20260102, 1
	ta := newSpendAggregator(spendQuery{campaign: "c"})
	for _, s := range []*eventspb.Spend{most, more} {
		if err := ta.add(s, &weirpb.AsOf{Partition: 5}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ta.answer(); connect.CodeOf(err) != connect.CodeOutOfRange {
		t.Errorf("a sum that does not fit: %v, %v", got, err)
	}
}

// TestClosedDays: the sum over all days has the lifetime row, and a closed day has no sum.
func TestClosedDays(t *testing.T) {
	add := func(day string) (*weirpb.GetSpendResponse, error) {
		q, err := newSpendQuery(&weirpb.GetSpendRequest{Campaign: "c1", Day: day})
		if err != nil {
			t.Fatal(err)
		}
		a := newSpendAggregator(q)
		for _, s := range []*eventspb.Spend{record(0, "local", 100, 0), record(20131019, "local", 5, 0)} {
			if err := a.add(s, &weirpb.AsOf{}); err != nil {
				t.Fatal(err)
			}
		}
		return a.answer()
	}
	all, err := add("")
	if err != nil || all.ChargedMicros != 105_000 || len(all.Days) != 2 || all.Days[0].Day != "closed" || all.Days[0].ChargedMicros != 100_000 {
		t.Errorf("%v, %v", all, err)
	}
	if one, err := add("2013-10-19"); err != nil || one.ChargedMicros != 5_000 {
		t.Errorf("an open day: %v, %v", one, err)
	}
	if _, err := add("2013-10-18"); connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "spend.retention") {
		t.Errorf("a closed day: %v", err)
	}
}
