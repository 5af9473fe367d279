package pack

import (
	"math"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// ads returns a report of ads of a campaign that are expected to cost some euros.
func ads(campaign, arm string, atMs int64, units float64) *eventspb.InsertionSums {
	return &eventspb.InsertionSums{
		Account: "acme", AtMs: atMs,
		Campaigns: []*eventspb.CampaignInsertions{{Campaign: campaign, Arm: arm, ExpectedMicros: int64(units * 1e6), Ads: 1}},
	}
}

// TestShown: ads that were reported are in flight for the campaign, its arm and the budgets above
// it until they are charged, and their cost is that of the tick.
func TestShown(t *testing.T) {
	a, _ := account(t, 1, []budget.Shared{{ID: "brand", Limit: daily(100)}},
		budget.Campaign{ID: "spring", Shared: "brand", Limit: daily(50), Arms: []budget.Arm{{ID: "x", PPM: 500_000}, {ID: "y", PPM: 500_000}}},
		budget.Campaign{ID: "summer", Shared: "brand", Limit: daily(50)})
	at := noon()
	a.Shown(ads("spring", "x", at, 1)) // before the first tick no document is in force
	tick(t, a, at)
	for range 3 {
		at += tickMs
		a.Shown(ads("spring", "x", at, 1))
		tick(t, a, at)
	}
	list := packs(t, a)
	spring := find(t, list, "spring")
	x, y := spring.GetArms()[0].GetInFlight(), spring.GetArms()[1].GetInFlight()
	for name, m := range map[string]*eventspb.InFlight{"brand": find(t, list, "brand").GetInFlight(), "spring": spring.GetInFlight(), "x": x} {
		if m.GetMicros() < 1.5e6 || m.GetMicros() > 3e6 || m.GetDelayMs() < 10_000 || m.GetRatio() != 1 || m.GetReportedMs() != at-tickMs {
			t.Errorf("%s: %v", name, m)
		}
	}
	if y != nil || find(t, list, "summer").GetInFlight() != nil {
		t.Errorf("y %v, summer %v", y, find(t, list, "summer"))
	}
	for _, left := range []*eventspb.InsertionSums{
		ads("winter", "", at, 1), ads("summer", "", a.window.BeginMs-1, 1), ads("summer", "", at, -1), ads("summer", "", at, 0),
		{AtMs: at, Campaigns: []*eventspb.CampaignInsertions{{Campaign: "summer", ExpectedMicros: 1e6, Currency: "JPY"}}},
	} {
		if a.Shown(left); find(t, packs(t, a), "summer").GetInFlight() != nil {
			t.Errorf("%v counts", left)
		}
	}
	n := &a.nodes[1]
	if got := a.tickCost(n, tickMs, 1); n.id != "spring" || got != 1e6 {
		t.Errorf("%s: cost of a tick %g", n.id, got)
	}
	// Charges without reports: they stand for the cost, and what is in flight runs out.
	spent, reportedMs := 0.0, at
	for range 7 {
		at += tickMs
		spent += 0.25
		q, ok := a.Prepare(at)
		if !ok {
			t.Fatal("no budgets are in force")
		}
		s := signals(at, q, true, row("spring", day1, spent))
		s.ReportedMs = reportedMs
		a.Step(s)
	}
	if got := a.tickCost(n, tickMs, 1); got != 0.25e6 {
		t.Errorf("cost of a tick %g after a minute without reports", got)
	}
	for range 6 * 60 {
		at += tickMs
		tick(t, a, at, row("spring", day1, spent))
	}
	if got := n.flight(); got > 0.3e6 {
		t.Errorf("%g are in flight after an hour", got)
	}
	at = a.window.EndMs + 1
	tick(t, a, at)
	if got := n.flight(); got != 0 {
		t.Errorf("%g of the day before are in flight", got)
	}
}

// TestShownCloses: the gate of a campaign that spends as fast as it can closes when what was
// charged, and what is in flight, are the budget. Without reports what is in flight is overspent.
func TestShownCloses(t *testing.T) {
	for _, reported := range []bool{true, false} {
		a := New("acme", control.NewPacer(control.Config{Controller: control.ASAP{}}))
		a.SetVersions(budgetVersions(document(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(10)})))
		const (
			cost  = 0.02 // of the ads of a tick
			delay = 12   // ticks
		)
		due := map[int]float64{}
		charged, shown := 0.0, 0.0
		for i := range 3 * 360 {
			at := noon() + int64(i)*tickMs
			charged += due[i]
			tick(t, a, at, row("spring", day1, charged))
			if !a.nodes[0].params.Open {
				continue
			}
			shown += cost
			due[i+delay] = cost
			if reported {
				a.Shown(ads("spring", "", at, cost/2)) // ad servers expect too little
			}
		}
		over := 100 * (shown/10 - 1)
		t.Logf("reported %t: %.2f %% overspent", reported, over)
		if reported && (over > 0.5 || over < -0.5) || !reported && over < 2 {
			t.Errorf("reported %t: %.2f %% overspent", reported, over)
		}
	}
}

// TestShownTakeover: the next owner continues with what is in flight.
func TestShownTakeover(t *testing.T) {
	a, d := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	at, spent := noon(), 0.0
	for i := range 2000 {
		at += tickMs
		shown := 0.02 * (1 + math.Sin(float64(i)/30))
		a.Shown(ads("spring", "", at, shown))
		if i >= 6 {
			spent += 0.5 * 0.02 * (1 + math.Sin(float64(i-6)/30))
		}
		tick(t, a, at, row("spring", day1, spent))
	}
	before := find(t, packs(t, a), "spring").GetInFlight()
	b := New("acme", control.NewPacer(control.Config{}))
	b.SetVersions(budgetVersions(d))
	b.Restore(packs(t, a))
	at += tickMs
	tick(t, b, at, row("spring", day1, spent))
	after := find(t, packs(t, b), "spring").GetInFlight()
	if d := time.Duration(before.GetDelayMs()) * time.Millisecond; d < 40*time.Second || d > 90*time.Second {
		t.Errorf("a delay of %s", d)
	}
	if r := before.GetRatio(); r < 0.45 || r > 0.55 {
		t.Errorf("a ratio of %.2f", r)
	}
	near := func(got, want, off float64) bool { return math.Abs(got/want-1) < off }
	if !near(after.GetMicros(), before.GetMicros(), 0.3) || !near(after.GetRatio(), before.GetRatio(), 0.1) ||
		!near(float64(after.GetDelayMs()), float64(before.GetDelayMs()), 0.3) || after.GetReportedMs() != before.GetReportedMs() {
		t.Errorf("%v after %v", after, before)
	}
	invalid := packs(t, a)
	find(t, invalid, "spring").InFlight = &eventspb.InFlight{Micros: math.NaN(), DelayMs: math.MinInt64, Ratio: -1, ReportedMs: math.MaxInt64}
	c := New("acme", control.NewPacer(control.Config{}))
	c.SetVersions(budgetVersions(d))
	c.Restore(invalid)
	for range 3 {
		at += tickMs
		tick(t, c, at, row("spring", day1, spent))
	}
	if r := c.nodes[0].reports; r.lastMs > at {
		t.Errorf("reports of the future: %d", r.lastMs)
	}
	if m := find(t, packs(t, c), "spring"); m.GetInFlight().GetMicros() != 0 || m.GetInFlight().GetRatio() != 1 || !m.GetOpen() {
		t.Errorf("%v", m)
	}
}

// TestShownStale: while the spend is stale, what is in flight stays, and ads that are shown wait.
// They count when the spend is known again. A wrong amount counts as the budget at most.
func TestShownStale(t *testing.T) {
	a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	at := noon()
	step := func(ageMs int64, unread bool) *node {
		at += tickMs
		a.Shown(ads("spring", "", at, 0.01))
		q, ok := a.Prepare(at)
		if !ok {
			t.Fatal("no budgets are in force")
		}
		s := signals(at, q, true, row("spring", day1, 1))
		s.AgeMs, s.Unread = ageMs, unread
		a.Step(s)
		return &a.nodes[0]
	}
	for range 20 {
		step(2000, false)
	}
	before := step(2000, false).flight()
	for i := range 30 {
		if n := step(int64(30_000+i*10_000), i%2 == 1); n.flight() != before || n.reason != control.Stale {
			t.Fatalf("%g are in flight, before %g, %s", n.flight(), before, n.reason)
		}
	}
	n := step(2000, false)
	if n.flight() < before+0.05e6 || n.reports.cost > 0.02e6 {
		t.Errorf("%g are in flight afterwards, before %g; cost of a tick %g", n.flight(), before, n.reports.cost)
	}
	a.Shown(ads("spring", "", at, 1e9))
	if n.reports.shown > 100e6 {
		t.Errorf("%g were shown", n.reports.shown)
	}
}

// TestShownDocument: what was learnt stays when the document changes, also with the day, and ends
// with the currency. Spend of campaigns that come below a budget is not charges of its ads.
func TestShownDocument(t *testing.T) {
	shared := []budget.Shared{{ID: "brand", Limit: daily(1000)}}
	spring := budget.Campaign{ID: "spring", Shared: "brand", Limit: daily(50)}
	a, d := account(t, 1, shared, spring, budget.Campaign{ID: "summer", Limit: daily(50)})
	v := budgetVersions(d)
	at, spent := noon(), 0.0
	run := func(ticks int) {
		for i := range ticks {
			at += tickMs
			a.Shown(ads("spring", "", at, 0.01*(1+math.Sin(float64(i)/20))))
			spent += 0.01 * (1 + math.Sin(float64(i-6)/20))
			tick(t, a, at, row("spring", a.day, spent), row("summer", a.day, 40))
		}
	}
	run(1500)
	of := func(id string) *eventspb.InFlight { return find(t, packs(t, a), id).GetInFlight() }
	before, brand := of("spring"), of("brand")
	v = v.Add(document(t, 2, shared, spring, budget.Campaign{ID: "summer", Shared: "brand", Limit: daily(50)}))
	a.SetVersions(v)
	run(2)
	if after := of("brand"); after.GetChargedMicros() > 1.1*brand.GetChargedMicros() || after.GetRatio() > 1.1*brand.GetRatio() {
		t.Errorf("%v, before %v", after, brand)
	}
	spent, at = 0, a.window.EndMs
	changed := document(t, 3, shared, spring)
	v = v.Add(changed)
	a.SetVersions(v)
	run(1)
	if after := of("spring"); after.GetChargedMicros() < before.GetChargedMicros()/2 || after.GetMicros() > 0.2*before.GetMicros() {
		t.Errorf("on the next day %v, before %v", after, before)
	}
	changed = document(t, 4, shared, spring)
	changed.Currency = "USD"
	a.SetVersions(v.Add(changed))
	at += tickMs
	tick(t, a, at)
	if after := of("spring"); after != nil {
		t.Errorf("in another currency: %v", after)
	}
}

// TestShownFew: if a small part of the ads is reported, charges stand for the cost, and the
// campaign keeps to its plan. The same holds if the ads of one of two campaigns below a budget are
// reported, and it shows none any more. Refunds do not change it for long.
func TestShownFew(t *testing.T) {
	for name, c := range map[string]struct {
		part   float64 // of the ads that are reported
		until  int     // tick up to which
		refund float64
		want   float64 // spent at noon
	}{
		"all": {1, 1 << 30, 0, 52.2}, "one in fifty": {0.02, 1 << 30, 0, 52.2}, "reports end": {1, 500, 0, 52.2},
		"a refund": {1, 1 << 30, 10, 46.1}, // it is spread over the rest of the day
	} {
		a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
		begin := time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC).UnixMilli()
		spent, due, refunded, before := 0.0, map[int]float64{}, 0.0, 0.0
		for i := range 4320 { // half a day
			at := begin + int64(i+1)*tickMs
			spent += due[i]
			if i == 2000 {
				refunded = c.refund
			}
			tick(t, a, at, row("spring", day1, spent-refunded))
			if i == c.until {
				before = a.nodes[0].params.Probability
			}
			if p := a.nodes[0].params.Probability; i > c.until && i < c.until+100 && p > 1.5*before {
				t.Fatalf("%s: a probability of %g, before %g", name, p, before)
			}
			if n := &a.nodes[0]; n.params.Open {
				cost := 300.0 / 8640 * n.params.Probability
				due[i+6] = cost
				if i < c.until {
					a.Shown(ads("spring", "", at, cost*c.part))
				}
			}
		}
		if math.Abs(spent-refunded-c.want) > 3 {
			t.Errorf("%s: spent %.1f at noon, want %.1f", name, spent-refunded, c.want)
		}
	}
}

func budgetVersions(d *budget.Document) budget.Versions { return budget.Versions{}.Add(d) }
