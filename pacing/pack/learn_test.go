package pack

import (
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/plan"
)

// traffic is the share of a day's traffic in a minute, by the local hour: five times as much at
// nine in the evening as in the night.
func traffic(hour float64) float64 { return (1 - 2.0/3*math.Cos((hour-9)/12*math.Pi)) / 1440 }

// simulation is a simulation of days of one account.
type simulation struct {
	t      *testing.T
	a      *Account
	d      *budget.Document
	at     time.Time // local
	supply []float64 // of the campaigns: what a day of full traffic would spend, in units
	spent  []float64 // on the day

	restart time.Duration // time between takeovers; 0: none
	stale   int           // each how many ticks the spend is read again from 16 h on; 0: each

	// Of the day.
	low, high float64 // probability of the last campaign between 2 and 22 h
	far       float64 // its greatest distance from the traffic, as a share of the day, in that time
	shown     float64 // traffic of the day
}

// newSimulation returns an account with daily budgets of 100 units.
func newSimulation(t *testing.T, kind string, supply ...float64) *simulation {
	t.Helper()
	d := &budget.Document{Account: "acme", Version: 1, Zone: "Europe/Berlin", Currency: "EUR", Plan: kind}
	for i := range supply {
		d.Campaigns = append(d.Campaigns, budget.Campaign{ID: fmt.Sprint("c", i), Limit: daily(100)})
	}
	d, err := budget.FromRecord(d.Record())
	if err != nil {
		t.Fatal(err)
	}
	w := &simulation{t: t, d: d, supply: supply, spent: make([]float64, len(supply))}
	w.takeover()
	loc, err := d.Location()
	if err != nil {
		t.Fatal(err)
	}
	w.at = time.Date(2026, 12, 1, 0, 0, 0, 0, loc)
	return w
}

// takeover lets another owner continue from the packs.
func (w *simulation) takeover() {
	var list []*eventspb.AccountPack
	if w.a != nil {
		list = packs(w.t, w.a)
	}
	w.takeoverOf(list)
}

// day has the ticks of a day.
func (w *simulation) day() {
	day := events.DayOf(w.at.UnixMilli(), w.at.Location())
	clear(w.spent)
	w.low, w.high, w.far, w.shown = 1, 0, 0, 0
	rows := make([]Row, len(w.spent))
	begin, readMs, n := w.at, int64(0), 0
	for ; events.DayOf(w.at.UnixMilli(), w.at.Location()) == day; w.at = w.at.Add(control.Tick) {
		if n++; w.stale == 0 || w.at.Hour() < 16 || n%w.stale == 0 {
			readMs = w.at.UnixMilli()
			for i, units := range w.spent {
				rows[i] = row(fmt.Sprint("c", i), day, units)
			}
		}
		q, ok := w.a.Prepare(w.at.UnixMilli())
		if !ok {
			w.t.Fatal("no budgets are in force")
		}
		s := signals(w.at.UnixMilli(), q, true, rows...)
		s.AgeMs = s.AtMs - readMs
		w.a.Step(s)
		hour := float64(w.at.Hour()) + float64(w.at.Minute())/60
		now := traffic(hour) / 6
		w.shown += now
		for i := range w.spent {
			if n := &w.a.nodes[i]; n.params.Open {
				w.spent[i] += w.supply[i] * now * n.params.Probability
			}
		}
		if hour >= 2 && hour < 22 {
			last := len(w.spent) - 1
			p := w.a.nodes[last].params.Probability
			w.low, w.high = min(w.low, p), max(w.high, p)
			w.far = max(w.far, math.Abs(w.spent[last]/100-w.shown))
		}
		if w.restart > 0 && w.at.Sub(begin)%w.restart == w.restart/2 {
			w.takeover()
		}
	}
}

// TestLearnt: an even plan raises the probability in the night, and lowers it in the evening. After
// some days the plan follows the traffic, and the probability hardly moves. The budgets are spent
// as well.
func TestLearnt(t *testing.T) {
	for _, c := range []struct {
		plan    string
		restart time.Duration
		learns  bool
	}{{budget.PlanEven, 0, false}, {"", 0, true}, {"", 97 * time.Minute, true}} {
		w := newSimulation(t, c.plan, 150, 200, 300)
		w.restart = c.restart
		for range 11 {
			w.day()
		}
		first := math.Log(w.high / w.low)
		t.Logf("plan %q, takeovers each %v: ln p varies by %.2f, at most %.1f %% from the traffic, %.1f %% spent, %.1f days, shape %.3f", c.plan,
			c.restart, first, 100*w.far, w.spent, w.a.learning.now.Days, w.a.learning.now.Shape())
		if (first < 0.8) != c.learns || (w.far < 0.1) != c.learns {
			t.Errorf("plan %q: ln p varies by %.2f, and the spend is up to %.1f %% from the traffic", c.plan, first, 100*w.far)
		}
		for i, units := range w.spent {
			if units < 99 || units > 100.2 {
				t.Errorf("plan %q: campaign %d has spent %.2f of 100", c.plan, i, units)
			}
		}
	}
}

// TestLearntExhausted: a campaign that has spent its budget by noon does not let the evening look
// quiet.
func TestLearntExhausted(t *testing.T) {
	w := newSimulation(t, "", 150, 900)
	w.d.Campaigns[1].Limit.Controller = "asap"
	w.takeover()
	for range 30 {
		w.day()
	}
	if w.spent[1] < 99 || w.a.nodes[1].params.Open {
		t.Fatalf("the second campaign has spent %.1f", w.spent[1])
	}
	alone := newSimulation(t, "", 150)
	for range 30 {
		alone.day()
	}
	want := alone.a.learning.next.Shape()
	for h, share := range w.a.learning.next.Shape() {
		if ratio := share / want[h]; ratio < 0.92 || ratio > 1.08 {
			t.Errorf("hour %d has the share %.4f, and without the campaign %.4f", h, share, want[h])
		}
	}
}

// TestLearntTakeover: the next owner has the same plan, and has learnt the same, also if the day
// has ended in between. Another plan, or another time zone, counts at once. An account forgets the
// hours of another clock. A clock that is set back neither changes the plan nor lets a day be
// learnt twice.
func TestLearntTakeover(t *testing.T) {
	w := newSimulation(t, "", 300)
	for range 4 {
		w.day()
	}
	spend := func(n int, units float64) {
		for range n {
			tick(t, w.a, w.at.UnixMilli(), row("c0", events.DayOf(w.at.UnixMilli(), w.at.Location()), units))
			w.at, units = w.at.Add(control.Tick), units+0.001
		}
	}
	spend(1000, 1)
	before, planned := w.a.Pack(0).GetPlanShape(), w.a.plan.Share(w.at.UnixMilli())
	same := func(what string, a *Account, atMs int64, planned float64) {
		t.Helper()
		if _, ok := a.Prepare(atMs); !ok {
			t.Fatal("no budgets are in force")
		}
		if after := a.Pack(0).GetPlanShape(); !proto.Equal(before, after) || before.GetNow().GetDays() < 2 || len(before.GetMinutes()) != 3 {
			t.Errorf("%s has learnt %v, and before it was %v", what, after, before)
		}
		if got := a.plan.Share(w.at.UnixMilli()); got != planned {
			t.Errorf("the plan of %s is %v, and before it was %v", what, got, planned)
		}
	}
	next := w.continued("", "Europe/Berlin")
	same("the next owner", next, w.at.UnixMilli(), planned)
	if even := w.continued(budget.PlanEven, "Europe/Berlin"); even.learning != next.learning {
		t.Error("an account with an even plan has forgotten what it knows")
	} else if got, want := even.plan.Share(w.at.UnixMilli()), 10_000.0/(23*3600); math.Abs(got-want) > 1e-9 {
		t.Errorf("an even plan has the share %v, want %v", got, want)
	}
	if moved := w.continued("", "Asia/Tokyo"); moved.learning.now.Days != 0 || moved.learning.next.Days != 0 || moved.learning.today.Actions != 0 {
		t.Errorf("an account knows hours of another clock: %+v", moved.learning)
	}
	yen := *w.d
	yen.Version, yen.Currency = 2, "JPY"
	if a := w.with(&yen); a.learning.today.Actions != 0 || a.nodes[0].potential != (potential{}) || a.learning.next != next.learning.next {
		t.Errorf("an account in another currency knows %+v, %+v", a.learning, a.nodes[0].potential)
	}
	w.at = w.at.Add(21*time.Hour + 15*time.Minute) // after midnight
	late := w.continued("", "Europe/Berlin")
	if _, ok := w.a.Prepare(w.at.UnixMilli()); !ok {
		t.Fatal("no budgets are in force")
	}
	got, want := &late.learning, &w.a.learning
	if got.now != want.now || got.next.Shape() != want.next.Shape() || math.Abs(got.next.Days-want.next.Days) > 1e-6 || got.next.Days <= got.now.Days {
		t.Errorf("the next owner has learnt %+v of the day before, and this one %+v", got, want)
	}
	before = w.a.Pack(0).GetPlanShape()
	spend(2, 0)
	w.a.Prepare(w.at.Add(-time.Hour).UnixMilli()) // the day before
	if !proto.Equal(w.a.Pack(0).GetPlanShape().GetNext(), before.GetNext()) {
		t.Error("a clock that is set back lets a day be learnt twice")
	}
	w.a.Prepare(w.at.UnixMilli())
	if got := w.a.Pack(0).GetPlanShape(); !proto.Equal(got.GetNext(), before.GetNext()) || !proto.Equal(got.GetNow(), before.GetNow()) {
		t.Errorf("after the clock was set back %v is learnt, and before %v", got, before)
	}
}

// TestLearntTogether: datacentres that have learnt different shapes have the same plan on the next
// day: that of the one that knows most.
func TestLearntTogether(t *testing.T) {
	var datacentres []*simulation
	for _, supply := range []float64{150, 300, 450} {
		w := newSimulation(t, "", supply)
		for range 3 {
			w.day()
		}
		datacentres = append(datacentres, w)
	}
	datacentres[2].takeoverOf(nil) // a new datacentre
	var list []*eventspb.AccountPack
	for i, w := range datacentres {
		tick(t, w.a, w.at.UnixMilli())
		m := packs(t, w.a)[0]
		m.WriterDc = fmt.Sprint("dc", i)
		list = append(list, m)
	}
	if proto.Equal(list[0].GetPlanShape().GetNext(), list[1].GetPlanShape().GetNext()) {
		t.Fatal("both datacentres have learnt the same")
	}
	for i, w := range datacentres {
		for k, m := range list {
			if i != k {
				w.a.Observe(m)
			}
		}
		w.at = w.at.Add(24 * time.Hour)
		w.a.Prepare(w.at.UnixMilli())
	}
	for _, w := range datacentres[1:] {
		if w.a.learning.now != datacentres[0].a.learning.now || w.a.learning.now.Days < 2 {
			t.Errorf("plans of %+v and %+v", w.a.learning.now, datacentres[0].a.learning.now)
		}
	}
	a := datacentres[0].a
	other := proto.CloneOf(list[1].GetPlanShape())
	other.Next.Days, other.Day = 9, int32(a.day)
	for _, wrong := range []func(m *eventspb.PlanShape){
		func(m *eventspb.PlanShape) { m.Zone = "UTC" },
		func(m *eventspb.PlanShape) { m.Day-- },
	} {
		m := proto.CloneOf(other)
		if wrong(m); true {
			a.learning.observe(m)
		}
		if a.learning.other != nil {
			t.Errorf("%v counts", m)
		}
	}
	if a.learning.observe(other); a.learning.other == nil || a.learning.other.Days != 9 {
		t.Errorf("%v does not count", other)
	}
}

// takeoverOf lets an owner continue from packs, which may be none.
func (w *simulation) takeoverOf(list []*eventspb.AccountPack) {
	w.a = New("acme", control.NewPacer(control.Config{}))
	w.a.SetVersions(budget.Versions{}.Add(w.d))
	w.a.Restore(list)
}

// TestLearntReadings: a spend that gets newer only now and then counts like one that is always
// fresh.
func TestLearntReadings(t *testing.T) {
	shape := func(every int) plan.Shape {
		w := newSimulation(t, "", 150)
		w.stale = every
		for range 6 {
			w.day()
		}
		return w.a.learning.next.Shape()
	}
	want := shape(1)
	for h, got := range shape(3) {
		if h == 23 { // the budget is spent
			continue
		}
		if ratio := got / want[h]; ratio < 0.97 || ratio > 1.03 {
			t.Errorf("hour %d has %.4f, and with fresh spend %.4f", h, got, want[h])
		}
	}
}

// continued returns an account that continues with another plan or time zone.
func (w *simulation) continued(kind, zone string) *Account {
	w.t.Helper()
	d := *w.d
	d.Plan, d.Zone, d.Version = kind, zone, 2
	return w.with(&d)
}

// with returns an account that continues with another document.
func (w *simulation) with(d *budget.Document) *Account {
	w.t.Helper()
	a := New("acme", control.NewPacer(control.Config{}))
	a.SetVersions(budget.Versions{}.Add(d))
	a.Restore(packs(w.t, w.a))
	if _, ok := a.Prepare(w.at.UnixMilli()); !ok {
		w.t.Fatal("no budgets are in force")
	}
	return a
}

// TestDemand: what a campaign could have spent counts while it takes part in auctions, and its
// spend is known.
func TestDemand(t *testing.T) {
	open := node{
		nodeKey: nodeKey{kind: campaign}, paced: true, cost: true, micros: 1000, params: control.Params{Open: true, Probability: 0.5, Multiplier: 0.5},
		potential: potential{mean: 50},
	}
	for name, c := range map[string]struct {
		change func(n *node)
		want   demand
	}{
		"":                      {func(*node) {}, demand{sum: 8000, weight: 1000, actions: 1}},
		"a part of its budget":  {func(n *node) { n.potential.mean = 0.5 }, demand{sum: 400 / 0.5 * 720, weight: 720, actions: 1}},
		"few auctions":          {func(n *node) { n.params.Probability = 1e-3 }, demand{}},
		"nothing is known":      {func(n *node) { n.potential.mean = 0 }, demand{}},
		"an hour is known":      {func(n *node) { n.potential = potential{sum: 6000, minutes: 60} }, demand{sum: 4000, weight: 1000, actions: 1}},
		"a shared budget":       {func(n *node) { n.kind = shared }, demand{}},
		"an arm":                {func(n *node) { n.kind = arm }, demand{}},
		"without a budget":      {func(n *node) { n.paced = false }, demand{}},
		"a budget of 0":         {func(n *node) { n.micros = 0 }, demand{}},
		"a closed gate":         {func(n *node) { n.params.Open = false }, demand{}},
		"an override":           {func(n *node) { n.override = &eventspb.CampaignOverride{Probability: 1} }, demand{}},
		"the first known spend": {func(n *node) { n.cost = false }, demand{}},
	} {
		n, d := open, demand{tickMinutes: 1, minutes: 1, share: 1}
		c.change(&n)
		d.add(&n, 100)
		got := demand{sum: d.sum, weight: d.weight, actions: d.actions}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	a, _ := account(t, 1, nil, budget.Campaign{ID: "spring", Limit: daily(100)})
	a.Prepare(noon())
	a.nodes[0].potential.mean = 1
	for i := range int64(20) {
		q, _ := a.Prepare(noon() + i*tickMs)
		s := signals(noon()+i*tickMs, q, true, row("spring", day1, float64(i)))
		s.Unread = i >= 5 && i < 10
		if i >= 12 {
			s.AgeMs = control.HoldAfter.Milliseconds()
		}
		a.Step(s)
	}
	// The spend before the first reading is not known, and the last ones are too old. It is 13 h in
	// Berlin.
	if got := a.learning.today.Hours[13].Minutes; math.Abs(got-11.0/6) > 1e-9 {
		t.Errorf("%g minutes are learnt from", got)
	}
}
