package pack

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

const (
	tickMs = 10_000
	day1   = events.Day(2026_12_01)
)

// noon is 12:00 UTC on day1.
func noon() int64 { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixMilli() }

func daily(units int64) budget.Limit { return budget.Limit{Kind: budget.Daily, Micros: units * 1e6} }

// account returns an account with a document in Berlin.
func account(t testing.TB, version uint64, shared []budget.Shared, campaigns ...budget.Campaign) (*Account, *budget.Document) {
	t.Helper()
	d := document(t, version, shared, campaigns...)
	a := New("acme", control.NewPacer(control.Config{}))
	a.SetVersions(budget.Versions{}.Add(d))
	return a, d
}

func document(t testing.TB, version uint64, shared []budget.Shared, campaigns ...budget.Campaign) *budget.Document {
	t.Helper()
	d := &budget.Document{Account: "acme", Version: version, Zone: "Europe/Berlin", Currency: "EUR", Shared: shared, Campaigns: campaigns}
	d, err := budget.FromRecord(d.Record()) // in normal order, and valid
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// row returns the spend of a campaign in euros.
func row(campaign string, day events.Day, units float64) Row {
	return Row{Campaign: campaign, Day: day, Currency: "EUR", Micros: int64(units * 1e6)}
}

// tick has a tick of an account with fresh spend.
func tick(t testing.TB, a *Account, atMs int64, rows ...Row) []int {
	t.Helper()
	q, ok := a.Prepare(atMs)
	if !ok {
		t.Fatal("no budgets are in force")
	}
	return a.Step(signals(atMs, q, true, rows...))
}

// signals returns the signals of rows, which are those of one dataset if complete.
func signals(atMs int64, q Query, complete bool, rows ...Row) *Signals {
	for i := range rows {
		q.Sums.AddToday(&rows[i])
		if complete {
			q.Sums.AddBefore(&rows[i])
		}
	}
	s := &Signals{AtMs: atMs, Query: q, Complete: complete && len(q.Before) > 0, ReportedMs: atMs}
	if complete {
		s.Dataset = "eu"
	}
	return s
}

// packs returns all packs of an account, as they are read from the topic.
func packs(t testing.TB, a *Account) (list []*eventspb.AccountPack) {
	t.Helper()
	for i := range a.parts {
		b, err := proto.Marshal(a.Pack(i))
		if err != nil {
			t.Fatal(err)
		}
		m := &eventspb.AccountPack{}
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// find returns a campaign, or a shared budget, of packs.
func find(t testing.TB, list []*eventspb.AccountPack, id string) *eventspb.PacedNode {
	t.Helper()
	for _, m := range list {
		for _, n := range slices.Concat(m.GetShared(), m.GetCampaigns()) {
			if n.GetId() == id {
				return n
			}
		}
	}
	t.Fatalf("no node %s", id)
	return nil
}

// TestDay: a campaign whose traffic would spend its budget three times spends it once, evenly.
func TestDay(t *testing.T) {
	a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	begin := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC).UnixMilli() // of the day in Berlin
	spent, half, open := 0.0, 0.0, 0
	for at := begin + tickMs; at < begin+24*3_600_000; at += tickMs {
		tick(t, a, at, row("spring", day1, spent))
		if n := &a.nodes[0]; n.params.Open {
			spent += 300.0 / 8640 * n.params.Probability
			open++
		}
		if at <= begin+12*3_600_000 {
			half = spent
		}
	}
	if spent < 99.5 || spent > 100.1 || math.Abs(half-100*12.0/23) > 2 {
		t.Errorf("spent %.2f of 100, by noon %.2f of %.2f", spent, half, 100*12.0/23)
	}
	if open < 8000 {
		t.Errorf("the gate was open for %d ticks of 8640: the campaign was not paced, but stopped", open)
	}
}

// TestBudgetOfDay: what counts against the budget of a day.
func TestBudgetOfDay(t *testing.T) {
	month := budget.Limit{Kind: budget.AverageDaily, Micros: 10e6, CapPPM: 2e6}
	life := budget.Limit{Kind: budget.Lifetime, Micros: 1000e6, Flights: []budget.Flight{{Begin: 2026_11_01, End: 2026_12_20}}}
	later := budget.Limit{Kind: budget.Daily, Micros: 5e6, Flights: []budget.Flight{{Begin: 2026_12_12, End: budget.NoEnd}}}
	a, _ := account(t, 1, nil,
		budget.Campaign{ID: "daily", Limit: daily(7)}, budget.Campaign{ID: "later", Limit: later},
		budget.Campaign{ID: "life", Limit: life}, budget.Campaign{ID: "month", Limit: month})
	const today = events.Day(2026_12_11)
	at := time.Date(2026, 12, 11, 12, 0, 0, 0, time.UTC).UnixMilli()
	q, ok := a.Prepare(at)
	if !ok || q.Day != today || q.From != 2026_11_01 || !q.Lifetime || !slices.Equal(q.Before, []string{"life", "month"}) {
		t.Fatalf("query %+v %v", q, ok)
	}
	rows := []Row{
		row("daily", 2026_12_10, 99), row("daily", today, 3), row("daily", 2026_12_12, 4), row("gone", today, 5),
		row("life", 0, 100), row("life", 2026_10_31, 1), row("life", 2026_11_20, 400), row("life", today, 10),
		row("month", 0, 1), row("month", 2026_11_30, 70), row("month", 2026_12_01, 20), row("month", 2026_12_10, 30),
		{Campaign: "daily", Day: today, Currency: "USD", Micros: 1},
		{Campaign: "gone", Day: today, Currency: "SEK", Micros: 1},
		row("gone", 2026_12_13, 5), row("month", 2026_12_13, 0),
	}
	s := signals(at, q, true, rows...)
	s.Dataset, s.AgeMs = "us", 700
	a.Step(s)
	list := packs(t, a)
	for id, want := range map[string][2]int64{
		"daily": {7e6, 3e6}, "later": {0, 0}, "life": {50e6, 10e6}, "month": {12_380_953, 0}, // 500 over 10 days, 260 over 21
	} {
		if n := find(t, list, id); n.GetBudgetMicros() != want[0] || n.GetSpentMicros() != want[1] {
			t.Errorf("%s: budget %d, spent %d, want %d", id, n.GetBudgetMicros(), n.GetSpentMicros(), want)
		}
	}
	if m := list[0]; !slices.Equal(m.GetOtherCurrencies(), []string{"USD"}) || !slices.Equal(m.GetOtherDays(), []int32{2026_12_12}) ||
		m.GetDataset() != "us" || m.GetSpendAgeMs() != 700 {
		t.Errorf("other currencies %v, other days %v, dataset %s, age %d", m.GetOtherCurrencies(), m.GetOtherDays(), m.GetDataset(), m.GetSpendAgeMs())
	}
	if n := find(t, list, "later"); n.GetOpen() || n.GetReason() != string(control.NoBudget) {
		t.Errorf("before its flight: %v", n)
	}

	// PACE-18: late spend changes nothing on the day, also after a takeover.
	// The next day counts it.
	late := append(slices.Clone(rows), row("life", 2026_11_21, 90))
	second := New("acme", a.pacer)
	second.SetVersions(a.versions)
	second.Restore(list)
	for _, x := range []*Account{a, second} {
		if q, _ := x.Prepare(at + tickMs); q.From != today || q.Lifetime || len(q.Before) > 0 {
			t.Errorf("query on the day: %+v", q)
		}
		tick(t, x, at+tickMs, late...)
		if n := find(t, packs(t, x), "life"); n.GetBudgetMicros() != 50e6 {
			t.Errorf("budget on the day after late spend: %d", n.GetBudgetMicros())
		}
		tick(t, x, at+24*3_600_000, append(late, row("life", 2026_12_12, 1))...)
		if n := find(t, packs(t, x), "life"); n.GetBudgetMicros() != int64(math.Ceil((1000-100-400-90-10)*1e6/9)) {
			t.Errorf("budget on the next day: %d", n.GetBudgetMicros())
		}
	}
}

// TestNoBudget: a campaign or a shared budget that has nothing for the day has the reason in its
// pack.
func TestNoBudget(t *testing.T) {
	flights := []budget.Flight{{Begin: 2026_11_01, End: 2026_11_30}, {Begin: 2026_12_24, End: budget.NoEnd}}
	limit := func(kind budget.Kind, micros int64, flights ...budget.Flight) budget.Limit {
		l := budget.Limit{Kind: kind, Micros: micros, Flights: flights}
		if kind == budget.AverageDaily {
			l.CapPPM = budget.PPM
		}
		return l
	}
	half := []budget.Arm{{ID: "a", PPM: 500_000}, {ID: "b", PPM: 500_000}}
	a, _ := account(t, 1, []budget.Shared{{ID: "brand", Limit: daily(0)}},
		budget.Campaign{ID: "before", Limit: limit(budget.Daily, 5e6, flights...)},
		budget.Campaign{ID: "ended", Limit: limit(budget.Daily, 5e6, flights[0]), Arms: half},
		budget.Campaign{ID: "lifetime", Limit: limit(budget.Lifetime, 5e6)},
		budget.Campaign{ID: "month", Limit: limit(budget.AverageDaily, 5e6)},
		budget.Campaign{ID: "runs", Limit: daily(5)},
		budget.Campaign{ID: "shared", Shared: "brand"},
		budget.Campaign{ID: "zero", Limit: daily(0)})
	const today = events.Day(2026_12_11)
	at := time.Date(2026, 12, 11, 12, 0, 0, 0, time.UTC).UnixMilli()
	got := func() map[string]string {
		reasons := map[string]string{}
		for _, n := range slices.Concat(packs(t, a)[0].GetShared(), packs(t, a)[0].GetCampaigns()) {
			for _, x := range append([]*eventspb.PacedNode{n}, n.GetArms()...) {
				if x.GetReason() == string(control.NoBudget) {
					reasons[x.GetId()] = fmt.Sprint(x.GetNoBudget(), " ", x.GetNextFlight())
				} else if x.GetNoBudget() != "" || x.GetNextFlight() != 0 {
					t.Errorf("with a budget: %v", x)
				}
			}
		}
		return reasons
	}
	q, _ := a.Prepare(at)
	a.Step(signals(at, q, false))
	want := map[string]string{
		"brand": "amount_zero 0", "before": "no_flight 20261224", "ended": "no_flight 0", "lifetime": "not_known 0", "month": "not_known 0",
		"zero": "amount_zero 0", "a": " 0", "b": " 0",
	}
	if !maps.Equal(got(), want) {
		t.Errorf("before the spend of earlier days is known: %q", got())
	}
	tick(t, a, at+tickMs, row("lifetime", 2026_11_01, 5), row("month", 2026_12_01, 200), row("runs", today, 1))
	want["lifetime"], want["month"] = "period_spent 0", "period_spent 0"
	if !maps.Equal(got(), want) {
		t.Errorf("after they are spent: %q", got())
	}
}

// TestOtherDays: spend that ad servers stamp with a later day than that of the account is named,
// until the day has come.
func TestOtherDays(t *testing.T) {
	a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	var rows []Row
	for _, day := range []events.Day{9, 8, 7, 6, 5, 4, 3, 2, 1, 5} {
		rows = append(rows, row("spring", day1+day, 1), Row{Campaign: "spring", Day: day1 + day, Currency: "USD", Micros: 1})
	}
	tick(t, a, noon(), rows...)
	if m := packs(t, a)[0]; !slices.Equal(m.GetOtherDays(), []int32{2026_12_02, 2026_12_03, 2026_12_04, 2026_12_05, 2026_12_06, 2026_12_07, 2026_12_08}) ||
		len(m.GetOtherCurrencies()) != 0 || find(t, packs(t, a), "spring").GetSpentMicros() != 0 {
		t.Errorf("%v", m)
	}
	q, _ := a.Prepare(noon() + tickMs)
	if a.Step(&Signals{AtMs: noon() + tickMs, Query: q, Unread: true}); len(packs(t, a)[0].GetOtherDays()) != MaxOtherDays {
		t.Errorf("after a tick without spend: %v", packs(t, a)[0])
	}
	const dayMs = 24 * 3_600_000
	q, _ = a.Prepare(noon() + dayMs)
	if a.Step(&Signals{AtMs: noon() + dayMs, Query: q, Unread: true}); len(packs(t, a)[0].GetOtherDays()) != 0 {
		t.Errorf("on a new day without spend: %v", packs(t, a)[0])
	}
	tick(t, a, noon()+dayMs+tickMs, row("spring", day1+1, 1), Row{Campaign: "spring", Day: day1 + 1, Currency: "USD", Micros: 1})
	if m := packs(t, a)[0]; len(m.GetOtherDays()) != 0 || !slices.Equal(m.GetOtherCurrencies(), []string{"USD"}) {
		t.Errorf("on the next day: %v", m)
	}
}

// TestMerged: a merge, which may lack rows, gives no budget of a lifetime. The spend of the day
// counts.
func TestMerged(t *testing.T) {
	life := budget.Limit{Kind: budget.Lifetime, Micros: 50e6}
	a, d := account(t, 1, nil, budget.Campaign{ID: "life", Limit: life})
	merged := func(at int64) *eventspb.PacedNode {
		q, _ := a.Prepare(at)
		if q.From != 0 || !q.Lifetime {
			t.Errorf("query %+v", q)
		}
		a.Step(signals(at, q, false, row("life", day1, 2)))
		return find(t, packs(t, a), "life")
	}
	if n := merged(noon()); n.GetOpen() || n.GetBudgetMicros() != 0 || n.GetSpentMicros() != 2e6 {
		t.Errorf("a budget that is not known: %v", n)
	}
	tick(t, a, noon()+tickMs, row("life", 0, 30), row("life", day1, 2))
	if n := find(t, packs(t, a), "life"); !n.GetOpen() || n.GetBudgetMicros() != 20e6 {
		t.Errorf("after the rows of one dataset: %v", n)
	}
	// The limit is raised while the spend is merged: the old budget holds until it can be computed.
	e := *d
	e.Version, e.Campaigns = 2, []budget.Campaign{{ID: "life", Limit: budget.Limit{Kind: budget.Lifetime, Micros: 90e6}}}
	a.SetVersions(a.versions.Add(&e))
	if n := merged(noon() + 2*tickMs); !n.GetOpen() || n.GetBudgetMicros() != 20e6 {
		t.Errorf("after a change: %v", n)
	}
	tick(t, a, noon()+3*tickMs, row("life", 0, 30), row("life", day1, 2))
	if n := find(t, packs(t, a), "life"); n.GetBudgetMicros() != 60e6 {
		t.Errorf("after the change is known: %v", n)
	}
}

// TestUnknownBudget: a budget that cannot be computed on a new day, or after a cut, is at most what
// was left.
func TestUnknownBudget(t *testing.T) {
	life := func(units int64) budget.Limit { return budget.Limit{Kind: budget.Lifetime, Micros: units * 1e6} }
	a, d := account(t, 1, nil, budget.Campaign{ID: "life", Limit: life(50)})
	merged := func(a *Account, at int64) *eventspb.PacedNode {
		q, _ := a.Prepare(at)
		a.Step(signals(at, q, false))
		return find(t, packs(t, a), "life")
	}
	tick(t, a, noon(), row("life", day1, 50))
	b := New("acme", a.pacer)
	b.SetVersions(a.versions)
	b.Restore(packs(t, a))
	for _, x := range []*Account{a, b} {
		if n := merged(x, noon()+24*3_600_000); n.GetOpen() || n.GetBudgetMicros() != 0 {
			t.Errorf("on the day after the budget was spent: %v", n)
		}
	}
	tick(t, a, noon()+24*3_600_000+tickMs, row("life", day1, 20))
	if n := find(t, packs(t, a), "life"); n.GetBudgetMicros() != 30e6 || !n.GetOpen() {
		t.Errorf("after a refund: %v", n)
	}
	for i, units := range []int64{3, 0} {
		e := *d
		e.Version, e.Campaigns = uint64(i+2), []budget.Campaign{{ID: "life", Limit: life(units)}}
		a.SetVersions(a.versions.Add(&e))
		if n := merged(a, noon()+24*3_600_000+int64(i+2)*tickMs); n.GetBudgetMicros() != units*1e6 || n.GetOpen() != (units > 0) {
			t.Errorf("after a cut to %d: %v", units, n)
		}
	}
}

// TestVersions: an account keeps the versions that it needs, and a record that is repeated, or is
// of another time, changes nothing.
func TestVersions(t *testing.T) {
	version := func(n uint64, effective, units int64) *budget.Document {
		d := document(t, n, nil, budget.Campaign{ID: "spring", Limit: daily(units)})
		d.EffectiveMs = effective
		return d
	}
	list := func(units int64) (v budget.Versions) { // decoded again, as for each record
		const dayMs = 24 * 3_600_000
		for i, day := range []int64{-9, -2, -1, 1, 2} {
			v = v.Add(version(uint64(i+1), noon()+day*dayMs, units))
		}
		return v
	}
	a := New("acme", control.NewPacer(control.Config{}))
	a.SetVersions(list(100))
	tick(t, a, noon(), row("spring", day1, 1))
	if got := len(a.versions.List); got != 3 || a.doc.Version != 3 {
		t.Errorf("%d versions are kept, version %d is in force", got, a.doc.Version)
	}
	node := &a.nodes[0]
	a.SetVersions(list(100))
	if a.Prepare(noon() + tickMs); a.parts[0].writtenMs != noon() || node != &a.nodes[0] {
		t.Errorf("after a repeated record the account begins again: written %d, other nodes %t", a.parts[0].writtenMs, node != &a.nodes[0])
	}
	a.SetVersions(list(50)) // a conflict: the content is another one
	if written := tick(t, a, noon()+2*tickMs, row("spring", day1, 1)); len(written) != 1 || find(t, packs(t, a), "spring").GetBudgetMicros() != 50e6 {
		t.Errorf("after another content parts %v are written", written)
	}
	tick(t, a, noon()+26*3_600_000)
	if got := a.doc.Version; got != 4 {
		t.Errorf("version %d is in force on the next day", got)
	}
}

// TestZone: a document whose time zone is not known here is not used, and the reason is known.
func TestZone(t *testing.T) {
	d := document(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(1)})
	d.Zone = "Mars/Base"
	a := New("acme", control.NewPacer(control.Config{}))
	if _, ok := a.Prepare(noon()); ok || a.Err() != nil {
		t.Errorf("without budgets: %t, %v", ok, a.Err())
	}
	a.SetVersions(budget.Versions{}.Add(d))
	if _, ok := a.Prepare(noon()); ok || a.Err() == nil || !strings.Contains(a.Err().Error(), "version 1 of the budgets: unknown time zone Mars/Base") {
		t.Errorf("%t, %v", ok, a.Err())
	}
	a.SetVersions(a.versions.Add(document(t, 2, nil, budget.Campaign{ID: "spring", Limit: daily(1)})))
	if _, ok := a.Prepare(noon()); !ok || a.Err() != nil {
		t.Errorf("with a known one: %t, %v", ok, a.Err())
	}
}

// TestMoved: the budget of a lifetime is computed again when a campaign is moved below it.
func TestMoved(t *testing.T) {
	pool := budget.Shared{ID: "pool", Limit: budget.Limit{Kind: budget.Lifetime, Micros: 1000e6}}
	first, second := budget.Campaign{ID: "a", Shared: "pool"}, budget.Campaign{ID: "b", Limit: daily(5000)}
	a, _ := account(t, 1, []budget.Shared{pool}, first, second)
	rows := []Row{row("a", 2026_11_01, 400), row("b", 2026_11_01, 590)}
	tick(t, a, noon(), rows...)
	if n := find(t, packs(t, a), "pool"); n.GetBudgetMicros() != 600e6 {
		t.Errorf("%v", n)
	}
	second.Shared = "pool"
	a.SetVersions(a.versions.Add(document(t, 2, []budget.Shared{pool}, first, second)))
	tick(t, a, noon()+tickMs, rows...)
	if n := find(t, packs(t, a), "pool"); n.GetBudgetMicros() != 10e6 {
		t.Errorf("with another campaign: %v", n)
	}
}

// TestClockAhead: after a clock that was a day ahead the campaign is that of its day.
func TestClockAhead(t *testing.T) {
	a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	tick(t, a, noon(), row("spring", day1, 10))
	tick(t, a, noon()+24*3_600_000, row("spring", day1, 10))
	tick(t, a, noon()+tickMs, row("spring", day1, 100))
	if n := find(t, packs(t, a), "spring"); n.GetOpen() || n.GetReason() != string(control.Spent) {
		t.Errorf("with the budget of the day spent: %v", n)
	}
	// Within a day: the parameters move on after one tick, and are written within a minute.
	b, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	for i := range int64(3) {
		tick(t, b, noon()+3_600_000+i*tickMs, row("spring", day1, 10))
	}
	before, written := b.nodes[0].pace.Probability, 0
	for i := range int64(7) {
		written += len(tick(t, b, noon()+i*tickMs, row("spring", day1, 10)))
	}
	if b.nodes[0].pace.Probability == before || written == 0 {
		t.Errorf("the probability stays at %g, %d packs are written", before, written)
	}
	q, _ := b.Prepare(noon() - 3_600_000)
	b.Step(&Signals{AtMs: noon() - 3_600_000, Query: q, Unread: true})
	if b.ageMs < 0 {
		t.Errorf("an age of %d", b.ageMs)
	}
}

// TestShared: a campaign has the least parameters of its own and of the shared budgets above it,
// and closes with them.
func TestShared(t *testing.T) {
	a, _ := account(t, 1,
		[]budget.Shared{{ID: "all", Limit: daily(100_000)}, {ID: "brand", Parent: "all", Limit: daily(10)}},
		budget.Campaign{ID: "free", Shared: "brand"}, budget.Campaign{ID: "own", Shared: "brand", Limit: daily(50_000)},
		budget.Campaign{ID: "rest", Shared: "all", Limit: daily(50_000)})
	for i := range int64(30) {
		spent := float64(i) * 0.3
		tick(t, a, noon()+i*tickMs, row("free", day1, spent/2), row("own", day1, spent/2), row("rest", day1, 1))
	}
	list := packs(t, a)
	brand, own, free, rest := find(t, list, "brand"), find(t, list, "own"), find(t, list, "free"), find(t, list, "rest")
	if brand.GetSpentMicros() != 8_700_000 || find(t, list, "all").GetSpentMicros() != 9_700_000 {
		t.Errorf("spent %d and %d", brand.GetSpentMicros(), find(t, list, "all").GetSpentMicros())
	}
	for _, n := range []*eventspb.PacedNode{own, free} {
		if n.GetProbability() != brand.GetProbability() || n.GetLimitedBy() != "brand" || !n.GetOpen() {
			t.Errorf("below brand, which has %g: %v", brand.GetProbability(), n)
		}
	}
	// A campaign that another budget limits does not raise its own probability.
	if own.GetState().GetProbability() > 0.12 || rest.GetProbability() < 0.2 || rest.GetLimitedBy() != "all" && rest.GetLimitedBy() != "" {
		t.Errorf("own %g, rest %g limited by %q", own.GetState().GetProbability(), rest.GetProbability(), rest.GetLimitedBy())
	}
	for i := range int64(75) { // all gets a lower probability than brand, which is spent
		tick(t, a, noon()+(31+i)*tickMs, row("free", day1, 5), row("own", day1, 5), row("rest", day1, 600*float64(i)))
	}
	list = packs(t, a)
	if all := find(t, list, "all"); all.GetProbability() >= brand.GetProbability() || find(t, list, "own").GetLimitedBy() != "brand" {
		t.Errorf("all has %g, and own is limited by %q", all.GetProbability(), find(t, list, "own").GetLimitedBy())
	}
	for id, open := range map[string]bool{"brand": false, "own": false, "free": false, "rest": true, "all": true} {
		if find(t, list, id).GetOpen() != open {
			t.Errorf("%s: open %v after brand was spent", id, !open)
		}
	}
}

// TestLasts: a pack has for how long the least of a campaign's budgets lasts, by its mean spend. A
// campaign without a budget of its own has that of the shared budget.
func TestLasts(t *testing.T) {
	a, _ := account(t, 1, []budget.Shared{{ID: "all", Limit: daily(120)}},
		budget.Campaign{ID: "alone", Limit: daily(1000)}, budget.Campaign{ID: "below", Shared: "all"},
		budget.Campaign{ID: "both", Shared: "all", Limit: daily(1000)})
	const ticks = 300 // so that the mean of the rate is near it
	for n := range ticks {
		spent := float64(n) * 0.1
		tick(t, a, noon()+int64(n)*tickMs, row("alone", day1, spent), row("below", day1, spent), row("both", day1, spent))
	}
	list := packs(t, a)
	for id, want := range map[string]float64{ // ticks: left of the budget, by the spend of a tick
		"alone": (1000 - 29.9) / 0.1, "below": (120 - 59.8) / 0.2, "both": (120 - 59.8) / 0.2,
	} {
		n := find(t, list, id)
		got := float64(n.GetLastsMs()) / tickMs
		if want < 8640 && (n.LastsMs == nil || math.Abs(got/want-1) > 0.02) || want > 8640 && n.LastsMs != nil {
			t.Errorf("%s lasts %v ticks, want %v", id, got, want)
		}
	}
}

// TestArms: arms have their shares of the campaign's budget, and their own spend, if it is counted.
func TestArms(t *testing.T) {
	arms := []budget.Arm{{ID: "a", PPM: 300_000}, {ID: "b", PPM: 700_000}}
	a, _ := account(t, 1, nil, budget.Campaign{ID: "other", Limit: daily(1)}, budget.Campaign{ID: "test", Limit: daily(100), Arms: arms})
	q, _ := a.Prepare(noon())
	if !q.Parts {
		t.Error("the spend by arm is not asked for")
	}
	by := row("test", day1, 40)
	by.Arms = []ArmSpend{{"a", 25e6}, {"b", 10e6}, {"a", 5e6}}
	tick(t, a, noon(), by)
	n := find(t, packs(t, a), "test")
	if x := n.GetArms(); len(x) != 2 || x[0].GetBudgetMicros() != 30e6 || x[0].GetSpentMicros() != 30e6 || x[0].GetOpen() ||
		x[1].GetBudgetMicros() != 70e6 || x[1].GetSpentMicros() != 10e6 || !x[1].GetOpen() || !n.GetOpen() {
		t.Errorf("by arm: %v", n)
	}
	by.Arms = []ArmSpend{{"a", 10e6}}
	tick(t, a, noon(), by)
	if x := find(t, packs(t, a), "test").GetArms(); x[0].GetSpentMicros() != 19e6 || x[1].GetSpentMicros() != 21e6 {
		t.Errorf("30 of 40 are not counted by arm: %v", x)
	}
	tick(t, a, noon()+tickMs, row("test", day1, 40))
	if x := find(t, packs(t, a), "test").GetArms(); x[0].GetSpentMicros() != 12e6 || x[1].GetSpentMicros() != 28e6 {
		t.Errorf("not counted by arm: %v", x)
	}
}

// TestLimitedBy: what limits a node is named with its kind, since a campaign and a shared budget
// may have one id.
func TestLimitedBy(t *testing.T) {
	arms := []budget.Arm{{ID: "a", PPM: 500_000}, {ID: "b", PPM: 500_000}}
	for _, c := range []struct {
		shared, own int64
		want        string
	}{{10, 20, "LIMITED_BY_KIND_SHARED LIMITED_BY_KIND_SHARED"}, {20, 10, "LIMITED_BY_KIND_UNSPECIFIED LIMITED_BY_KIND_CAMPAIGN"}} {
		a, _ := account(t, 1, []budget.Shared{{ID: "x", Limit: daily(c.shared)}}, budget.Campaign{ID: "x", Shared: "x", Limit: daily(c.own), Arms: arms})
		r := row("x", day1, 11)
		r.Arms = []ArmSpend{{"a", 11e6}, {"b", 0}}
		tick(t, a, noon(), r)
		n := packs(t, a)[0].GetCampaigns()[0]
		if got := fmt.Sprint(n.GetLimitedByKind(), " ", n.GetArms()[1].GetLimitedByKind()); got != c.want || n.GetArms()[1].GetLimitedBy() != "x" {
			t.Errorf("%d shared, %d of its own: %s, %v", c.shared, c.own, got, n)
		}
	}
}

// TestStale: without spend the parameters stay, and then the campaign stops.
func TestStale(t *testing.T) {
	a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	at := noon()
	unread := func() *node {
		q, _ := a.Prepare(at)
		a.Step(&Signals{AtMs: at, Query: q, Unread: true})
		at += tickMs
		return &a.nodes[0]
	}
	if n := unread(); n.params.Open || n.reason != control.TooOld {
		t.Errorf("before any spend was read: %+v %s", n.params, n.reason)
	}
	for i := range 20 { // what was spent before the first reading is not the cost of a tick
		tick(t, a, at, row("spring", day1, 40+float64(i)*0.05))
		at += tickMs
	}
	fresh := a.nodes[0]
	if fresh.pace.Cost > 0.05e6 {
		t.Errorf("a cost of %g a tick", fresh.pace.Cost)
	}
	for i := range 59 {
		n := unread()
		stale := i >= 2
		if !n.params.Open || (n.reason == control.Stale) != stale || stale && a.ageMs != int64(i+1)*tickMs {
			t.Fatalf("after %d ticks without spend: %+v %s, age %d", i+1, n.params, n.reason, a.ageMs)
		}
		if math.Abs(math.Log(n.params.Probability/fresh.params.Probability)) > 3*control.MaxStep {
			t.Fatalf("the probability went from %g to %g without spend", fresh.params.Probability, n.params.Probability)
		}
	}
	if n := unread(); n.params.Open || n.reason != control.TooOld {
		t.Errorf("after ten minutes: %+v %s", n.params, n.reason)
	}
	// What was spent in that time is not the cost of one tick.
	held := a.nodes[0].pace
	tick(t, a, at, row("spring", day1, 41+60*0.05))
	if n := a.nodes[0]; !n.params.Open || n.pace.Cost > 1.2*held.Cost {
		t.Errorf("after the outage: %+v, cost %g, before %g", n.params, n.pace.Cost, held.Cost)
	}
}

// TestNeverRead: spend that was never read has no age, also after a takeover. The campaign waits.
func TestNeverRead(t *testing.T) {
	a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	at := noon()
	for i := range 3 {
		q, _ := a.Prepare(at)
		a.Step(&Signals{AtMs: at, Query: q, Unread: true})
		list := packs(t, a)
		if n := find(t, list, "spring"); !list[0].GetUnread() || list[0].GetSpendAgeMs() != 0 || n.GetReason() != string(control.TooOld) {
			t.Errorf("owner %d: unread %v, age %d, %v", i, list[0].GetUnread(), list[0].GetSpendAgeMs(), n)
		}
		b := New("acme", a.pacer)
		b.SetVersions(a.versions)
		b.Restore(list)
		a, at = b, at+tickMs
	}
	tick(t, a, at, row("spring", day1, 1))
	if m := packs(t, a)[0]; m.GetUnread() || !find(t, packs(t, a), "spring").GetOpen() {
		t.Errorf("after the spend was read: %v", m)
	}
	q, _ := a.Prepare(at + tickMs)
	a.Step(&Signals{AtMs: at + tickMs, Query: q, Unread: true})
	if m := packs(t, a)[0]; m.GetUnread() || m.GetSpendAgeMs() != tickMs {
		t.Errorf("after a tick without spend: %v", m)
	}
}

// TestTakeover: PACE-19. The new owner begins with what was written last, and goes on in steps.
func TestTakeover(t *testing.T) {
	a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	var list []*eventspb.AccountPack
	at, spent := noon(), 30.0
	for range 40 {
		if len(tick(t, a, at, row("spring", day1, spent))) > 0 {
			list = packs(t, a)
		}
		at, spent = at+tickMs, spent+0.05
	}
	b := New("acme", a.pacer)
	b.SetVersions(a.versions)
	b.Restore(list)
	at += 40_000
	before := find(t, list, "spring")
	for i := range 5 {
		spent += 0.05
		tick(t, b, at, row("spring", day1, spent))
		n := b.nodes[0]
		step := math.Abs(math.Log(n.params.Probability / before.GetProbability()))
		if !n.params.Open || i == 0 && step != 0 || step > control.MaxStep {
			t.Fatalf("tick %d: %+v after %v", i, n.params, before)
		}
		if n.reason == control.FirstTick {
			t.Errorf("tick %d: the reason is %s", i, n.reason)
		}
		if i == 2 && step == 0 {
			t.Error("the controller does not go on")
		}
		before = find(t, packs(t, b), "spring")
		at += tickMs
	}
}

// TestParts: a large account has several packs, which have all nodes, each once, with their arms.
func TestParts(t *testing.T) {
	var campaigns []budget.Campaign
	for i := range 350 {
		c := budget.Campaign{ID: fmt.Sprintf("c%03d", i), Limit: daily(10), Shared: "all"}
		if i%3 == 0 {
			c.Arms = []budget.Arm{{ID: "a", PPM: 500_000}, {ID: "b", PPM: 500_000}}
		}
		campaigns = append(campaigns, c)
	}
	a, _ := account(t, 1, []budget.Shared{{ID: "all", Limit: daily(1000)}}, campaigns...)
	written := tick(t, a, noon())
	list := packs(t, a)
	if len(list) < 5 || len(written) != len(list) {
		t.Fatalf("%d parts, %d written", len(list), len(written))
	}
	var ids []string
	for i, m := range list {
		size := 0
		for _, n := range m.GetCampaigns() {
			ids = append(ids, n.GetId())
			size += 1 + len(n.GetArms())
			var of int
			if _, err := fmt.Sscanf(n.GetId(), "c%d", &of); err != nil || (len(n.GetArms()) == 2) != (of%3 == 0) {
				t.Errorf("%s has %d arms", n.GetId(), len(n.GetArms()))
			}
		}
		if m.GetPart() != int32(i) || m.GetParts() != int32(len(list)) || size > PartNodes+2 || proto.Size(m) > 32<<10 {
			t.Errorf("part %d of %d, %d nodes, %d bytes", m.GetPart(), m.GetParts(), size, proto.Size(m))
		}
	}
	if len(ids) != 350 || !slices.IsSorted(ids) {
		t.Errorf("%d campaigns in the packs", len(ids))
	}
	if got := tick(t, a, noon()+tickMs, row("c300", day1, 10)); len(got) == 0 || !slices.Contains(got, len(list)-2) && !slices.Contains(got, len(list)-1) {
		t.Errorf("parts %v are written when the gate of c300 closes", got)
	}
	campaigns[0].Shared = ""
	a.SetVersions(a.versions.Add(document(t, 2, nil, campaigns[0])))
	if tick(t, a, noon()+2*tickMs); !slices.Equal(a.Former(), []int{1, 2, 3, 4, 5, 6}[:len(list)-1]) || len(a.Former()) > 0 {
		t.Errorf("the former parts are not named once")
	}
}

// TestRandom: whatever happens, parameters are numbers, gates close with the budgets, the budgets
// of arms are within that of the campaign, and who reads the packs is near what is in force.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.SampledFrom([]budget.Limit{
			daily(10), daily(0), daily(90_000_000_000),
			{Kind: budget.Lifetime, Micros: 30e6},
			{Kind: budget.AverageDaily, Micros: 5e6, CapPPM: 1.5e6},
			{Kind: budget.Daily, Micros: 1},
		})
		draw := func(version uint64) *budget.Document {
			shared := []budget.Shared{{ID: "s", Limit: limit.Draw(rt, "shared")}}
			c := budget.Campaign{ID: "c", Shared: "s", Limit: limit.Draw(rt, "limit")}
			if rapid.Bool().Draw(rt, "arms") {
				c.Arms = []budget.Arm{{ID: "a", PPM: 333_333}, {ID: "b", PPM: 666_667}}
			}
			return document(t, version, shared, c, budget.Campaign{ID: "d", Shared: "s"})
		}
		pacer := control.NewPacer(control.Config{})
		versions := budget.Versions{}.Add(draw(1))
		a := New("acme", pacer)
		a.SetVersions(versions)
		read := map[int]*eventspb.AccountPack{} // by a reader of the topic
		at := noon()
		spent := map[string]int64{}
		for i := range rapid.IntRange(1, 60).Draw(rt, "ticks") {
			at += rapid.SampledFrom([]int64{tickMs, tickMs, tickMs, 0, -tickMs, 70_000, 9 * 3_600_000}).Draw(rt, "ms")
			switch rapid.IntRange(0, 9).Draw(rt, "event") {
			case 0:
				versions = versions.Add(draw(uint64(i + 2)))
				a.SetVersions(versions)
			case 1:
				a = New("acme", pacer)
				a.SetVersions(versions)
				var list []*eventspb.AccountPack
				for _, m := range read {
					list = append(list, m)
				}
				a.Restore(list)
			}
			q, _ := a.Prepare(at)
			var rows []Row
			complete, unread := rapid.Bool().Draw(rt, "complete"), false
			if unread = rapid.IntRange(0, 4).Draw(rt, "unread") == 0; !unread {
				for _, c := range []string{"c", "d"} {
					spent[c] += rapid.SampledFrom([]int64{0, 1000, 100_000, -50_000, math.MaxInt64 / 3}).Draw(rt, "spend")
					r := Row{Campaign: c, Day: a.day, Currency: "EUR", Micros: spent[c]}
					if rapid.Bool().Draw(rt, "by arm") {
						r.Arms = []ArmSpend{{"a", spent[c] / 2}}
					}
					rows = append(rows, r, Row{Campaign: c, Day: a.day - 1, Currency: "EUR", Micros: 1e6})
				}
			}
			s := signals(at, q, complete, rows...)
			s.Unread, s.AgeMs = unread, rapid.Int64Range(0, 700_000).Draw(rt, "age")
			for _, part := range a.Step(s) {
				read[part] = a.Pack(part)
			}
			for _, part := range a.Former() {
				delete(read, part)
			}
			check(rt, a, read)
		}
	})
}

// check checks an account against what a reader of its packs has.
func check(rt *rapid.T, a *Account, read map[int]*eventspb.AccountPack) {
	var list []*eventspb.AccountPack
	for _, i := range slices.Sorted(func(yield func(int) bool) {
		for n := range read {
			if !yield(n) {
				return
			}
		}
	}) {
		list = append(list, read[i])
	}
	var armed int64
	for i := range a.nodes {
		n := &a.nodes[i]
		p := n.params
		if !(p.Probability > 0 && p.Probability <= 1 && p.Multiplier > 0 && p.Multiplier <= 1) {
			rt.Fatalf("%v: %+v", n.nodeKey, p)
		}
		if n.paced && p.Open && n.spent >= n.micros {
			rt.Fatalf("%v is open with %d of %d spent", n.nodeKey, n.spent, n.micros)
		}
		if up := n.up; up != none && p.Open && !a.nodes[up].params.Open {
			rt.Fatalf("%v is open below %v", n.nodeKey, a.nodes[up].nodeKey)
		}
		if n.kind == arm {
			armed += n.micros
			if top := &a.nodes[n.up]; armed > max(0, top.micros) {
				rt.Fatalf("arms have %d of %d", armed, top.micros)
			}
		}
		m := readNode(list, n.nodeKey)
		if m == nil || m.GetOpen() != p.Open || math.Abs(math.Log(m.GetProbability()/p.Probability)) > WriteStep+1e-9 ||
			math.Abs(math.Log(m.GetMultiplier()/p.Multiplier)) > WriteStep+1e-9 {
			rt.Fatalf("%v: a reader has %v, in force is %+v", n.nodeKey, m, p)
		}
	}
}

func readNode(list []*eventspb.AccountPack, key nodeKey) *eventspb.PacedNode {
	for _, m := range list {
		of := m.GetCampaigns()
		if key.kind == shared {
			of = m.GetShared()
		}
		for _, n := range of {
			if n.GetId() == cmp.Or(key.campaign, key.id) {
				if key.kind != arm {
					return n
				}
				for _, x := range n.GetArms() {
					if x.GetId() == key.id {
						return x
					}
				}
			}
		}
	}
	return nil
}
