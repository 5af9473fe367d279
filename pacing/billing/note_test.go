package billing

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
)

// TestNote: documents of a day that are noted again change nothing, the end of the day is the last
// one, and another currency begins again.
func TestNote(t *testing.T) {
	text := `"shared":[{"id":"s","daily":"3"}],"campaigns":[{"campaign":"a","daily":"10","shared":"s"},{"campaign":"b","lifetime":"9"}]`
	m := note(t, text)
	if again := Note(m, document(t, 1, text), day, time.FixedZone("", 3600)); !proto.Equal(m, again) {
		t.Errorf("%v\nwant\n%v", again, m)
	}
	if end := time.UnixMilli(m.GetEndMs()).UTC(); end != time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC) {
		t.Error(end)
	}
	d := document(t, 2, text)
	if later := Note(m, d, day, time.FixedZone("", -5*3600)); later.GetEndMs()-m.GetEndMs() != 6*time.Hour.Milliseconds() || later.GetVersion() != 2 {
		t.Error(later)
	}
	d.Currency = "USD"
	if other := Note(m, d, day, time.FixedZone("", 3600)); other.GetCurrency() != "USD" || len(other.GetCampaigns()[0].GetLimits()) != 1 {
		t.Error(other)
	}
}

// TestGreatest: PACE-36. A day with several documents allows what the one that allows most would
// allow alone, whatever was spent before. With more than maxLimits it may be more, never less.
func TestGreatest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.Custom(func(rt *rapid.T) budget.Limit {
			l := budget.Limit{
				Kind:   rapid.SampledFrom([]budget.Kind{budget.Daily, budget.Lifetime, budget.AverageDaily}).Draw(rt, "kind"),
				Micros: rapid.Int64Range(0, 30).Draw(rt, "micros"), CapPPM: rapid.Int32Range(1, 2).Draw(rt, "cap") * budget.PPM,
			}
			if rapid.Bool().Draw(rt, "flights") {
				begin := day.Add(-rapid.IntRange(-1, 3).Draw(rt, "begin"))
				l.Flights = []budget.Flight{{Begin: begin, End: begin.Add(rapid.IntRange(0, 4).Draw(rt, "length"))}}
			}
			return l
		})
		before := map[events.Day]int64{}
		for range 3 {
			before[day.Add(-rapid.IntRange(1, 5).Draw(rt, "before"))] = rapid.Int64Range(0, 400).Draw(rt, "spent before")
		}
		allowed := func(m *eventspb.DayBudgets) int64 {
			d := NewDay(m)
			d.Add("c", day, "EUR", 1000)
			for at, micros := range before {
				d.Add("c", at, "EUR", micros)
			}
			return d.Bill()[0].GetBilledMicros()
		}
		var all *eventspb.DayBudgets
		want, several := int64(0), rapid.IntRange(1, 5).Draw(rt, "documents")
		if rapid.IntRange(0, 9).Draw(rt, "many") == 0 {
			several = 60
		}
		for version := range several {
			d := &budget.Document{
				Account: "acme", Version: uint64(version + 1), Zone: "UTC", Currency: "EUR",
				Campaigns: []budget.Campaign{{ID: "c", Limit: limit.Draw(rt, "limit")}},
			}
			want = max(want, allowed(Note(nil, d, day, time.UTC)))
			all = Note(all, d, day, time.UTC)
		}
		limits := len(all.GetCampaigns()[0].GetLimits())
		if got := allowed(all); got < want || got > want && several <= maxLimits || limits > maxLimits {
			rt.Fatalf("%d are allowed by %v, want %d", got, all, want)
		}
	})
}

// TestNoteSize: a day of other campaigns in each document keeps those of the last one, once they
// are too large.
func TestNoteSize(t *testing.T) {
	var m *eventspb.DayBudgets
	forgot := false
	for version := 1; version <= 8; version++ {
		d := &budget.Document{Account: "acme", Version: uint64(version), Zone: "UTC", Currency: "EUR"}
		for i := range 800 {
			limit := budget.Limit{Kind: budget.Daily, Micros: 1e6}
			d.Campaigns = append(d.Campaigns, budget.Campaign{ID: fmt.Sprintf("%04d/%d/%s", i, version, strings.Repeat("x", 200)), Limit: limit})
		}
		before := len(m.GetCampaigns())
		m = Note(m, d, day, time.UTC)
		if size := proto.Size(m); size > MaxRowBytes {
			t.Fatalf("%d bytes", size)
		}
		forgot = forgot || len(m.GetCampaigns()) < before+800
		if !strings.HasPrefix(m.GetCampaigns()[len(m.GetCampaigns())-1].GetId(), fmt.Sprintf("0799/%d/", version)) {
			t.Error("the campaigns of the last document are missing")
		}
	}
	if !forgot {
		t.Error("all of them were kept")
	}
}

// FuzzDecode decodes records of the topic, and rows of the changelog: nothing panics, and Header
// has what the whole message has.
func FuzzDecode(f *testing.F) {
	limit := int64(5)
	for _, m := range []proto.Message{
		&eventspb.BilledSpend{Account: "a", BudgetDay: int32(day), Currency: "EUR", Campaign: "c", SpentMicros: 7, BilledMicros: 5, BudgetMicros: &limit},
		&eventspb.DayBudgets{Account: "a", Day: int32(day), EndMs: 7, Currency: "EUR", Version: 3, Campaigns: []*eventspb.DayBudget{
			{Id: "c", Limits: []*eventspb.DayLimit{{DayMicros: 1, PeriodMicros: 2, From: 3, Lifetime: true}}},
		}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if d, err := Decode(b); err == nil && (d.Account == "" || len(d.BudgetDay) != 10) {
			t.Errorf("%+v", d)
		}
		end, version, billed := Header(b)
		m := &eventspb.DayBudgets{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		if end != m.GetEndMs() || version != m.GetVersion() || billed != m.GetBilled() {
			t.Errorf("header %d %d, message %v", end, version, m)
		}
		d := NewDay(m)
		campaigns, _, _ := d.Before()
		for _, c := range append(campaigns, "c") {
			d.Add(c, day, "EUR", 7)
			d.Add(c, day-1, "EUR", 7)
		}
		if list := d.Bill(); list[len(list)-1].GetCampaign() != "" {
			t.Error(list)
		}
	})
}

// TestDecode: what a record has, as a document, and records that are none.
func TestDecode(t *testing.T) {
	limit := int64(5e6)
	m := &eventspb.BilledSpend{
		Account: "acme", WriterDc: "eu", BudgetDay: int32(day), Campaign: "c", Currency: "EUR", SpentMicros: 7_250_000, BilledMicros: 4e6,
		BudgetMicros: &limit, Shared: "s", Version: 3, Dataset: "us", AtMs: 1_795_000_000_000,
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want := Document{
		BudgetDay: "2026-11-20", Account: "acme", Campaign: "c", Spent: "7.25", Billed: "4.00", Overdelivered: "3.25", Budget: "5.00",
		Currency: "EUR", Shared: "s", Version: 3, Dataset: "us", Writer: "eu", At: "2026-11-18T11:06:40Z",
	}
	if got, err := Decode(b); err != nil || *got != want {
		t.Errorf("%+v %v", got, err)
	}
	for _, bad := range [][]byte{nil, {0xff}, b[2:]} {
		if d, err := Decode(bad); err == nil {
			t.Errorf("%x was decoded: %+v", bad, d)
		}
	}
}
