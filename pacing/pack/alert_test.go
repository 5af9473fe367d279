package pack

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// alertTexts returns the alerts of the last step.
func alertTexts(a *Account) (list []string) {
	for _, m := range a.Alerts() {
		list = append(list, fmt.Sprint(m.GetCampaign(), m.GetShared(), " ", m.GetPercent()))
	}
	return list
}

// watch is an account whose ticks are checked for alerts.
type watch struct {
	*testing.T
	*Account
	atMs int64
}

// expect has a tick, and checks its alerts. The part of an alert has to be written with it.
func (w *watch) expect(want []string, rows ...Row) {
	w.Helper()
	w.atMs += tickMs
	parts := tick(w.T, w.Account, w.atMs, rows...)
	if got := alertTexts(w.Account); !slices.Equal(got, want) {
		w.Errorf("%v: alerts %q, want %q", time.UnixMilli(w.atMs).UTC(), got, want)
	}
	if len(want) > 0 && len(parts) == 0 {
		w.Error("the pack of an alert is not written")
	}
}

// takeover continues with the packs that were written.
func (w *watch) takeover() {
	versions := w.versions
	list := packs(w.T, w.Account)
	w.Account = New("acme", control.NewPacer(control.Config{}))
	w.Restore(list)
	w.SetVersions(versions)
}

// TestAlerts: each percentage of a budget of a day is one alert, also after refunds and takeovers,
// and again after an increase of the budget and on the next day.
func TestAlerts(t *testing.T) {
	a, d := account(t, 1, []budget.Shared{{ID: "all", Limit: daily(1000)}},
		budget.Campaign{ID: "c", Limit: daily(100), Shared: "all"}, budget.Campaign{ID: "free", Shared: "all"},
		budget.Campaign{ID: "zero", Limit: daily(0)})
	w := &watch{t, a, noon()}
	spent := func(units float64, want ...string) { w.Helper(); w.expect(want, row("c", day1, units)) }
	spent(0)
	spent(49.999999)
	spent(50, "c 50")
	m := a.Alerts()[0]
	if m.GetAccount() != "acme" || m.GetBudgetDay() != int32(day1) || m.GetCurrency() != "EUR" || m.GetBudgetMicros() != 100e6 ||
		m.GetSpentMicros() != 50e6 || m.GetAtMs() != w.atMs || m.GetVersion() != 1 || m.GetDayEndMs() <= w.atMs {
		t.Errorf("%v", m)
	}
	spent(60)
	spent(40) // refunds
	w.takeover()
	spent(40)
	spent(60)
	spent(79.99)
	spent(120, "c 80", "c 100")
	w.takeover()
	spent(121)
	raise := func(version uint64, units int64) {
		d = document(t, version, d.Shared, budget.Campaign{ID: "c", Limit: daily(units), Shared: "all"}, d.Campaigns[1], d.Campaigns[2])
		w.SetVersions(w.versions.Add(d))
	}
	raise(2, 200) // of which 60 % are spent
	spent(121)
	spent(160, "c 80")
	w.takeover()
	raise(3, 170)
	spent(160)
	raise(4, 150)
	spent(160, "c 100")
	w.expect([]string{"all 50"}, row("c", day1, 160), row("free", day1, 340))
	raise(5, 160)
	w.atMs = noon() + (24 * time.Hour).Milliseconds()
	w.expect([]string{"c 50"}, row("c", day1+1, 80), row("c", day1, 160), row("free", day1, 340))
}

// TestAlertsHeld: a pack that has not moved otherwise is written for its alert. Spend that could
// not be read raises none.
func TestAlertsHeld(t *testing.T) {
	a, _ := account(t, 1, nil, budget.Campaign{ID: "c", Limit: daily(100)})
	at := noon()
	step := func(units float64, unread bool, want ...string) {
		t.Helper()
		at += tickMs
		q, _ := a.Prepare(at)
		s := signals(at, q, true, row("c", day1, units))
		s.AgeMs, s.Unread = 40_000, unread // the parameters are held
		written := a.Step(s)
		if got := alertTexts(a); !slices.Equal(got, want) || at > noon()+tickMs && len(written) != len(want) {
			t.Errorf("%v, unread %v: alerts %q, want %q; parts %v are written", units, unread, got, want, written)
		}
	}
	step(0, false)
	step(49, false)
	step(50, true)
	step(50, false, "c 50")
	step(51, false)
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		micros  int64
		percent int32
		want    int64
	}{{3, 50, 2}, {100, 80, 80}, {101, 80, 81}, {math.MaxInt64, 100, math.MaxInt64}, {math.MaxInt64, 50, math.MaxInt64/2 + 1}} {
		if got := share(c.micros, c.percent); got != c.want {
			t.Errorf("%d %% of %d: %d, want %d", c.percent, c.micros, got, c.want)
		}
	}
}

// TestEarly: a budget that would be spent two hours before the day ends, for an hour,
// is one alert: ad servers do not obey. A campaign that obeys has none, also after a cut of its
// budget, and neither has one that is to spend its budget as soon as possible.
func TestEarly(t *testing.T) {
	fast := budget.Campaign{ID: "fast", Limit: daily(1000)}
	fast.Limit.Controller = "asap"
	a, d := account(t, 1, nil, budget.Campaign{ID: "c", Limit: daily(1000)}, fast, budget.Campaign{ID: "good", Limit: daily(1000)})
	w := &watch{t, a, noon()}
	var early []*eventspb.BudgetAlert
	spent, good, p := 0.0, 0.0, 0.0 // p is the probability of the campaign good
	for n := range 2400 {           // until 18:40
		if n == 400 {
			d = document(t, 2, nil, d.Campaigns[0], fast, budget.Campaign{ID: "good", Limit: daily(400)})
			w.SetVersions(w.versions.Add(d))
		}
		w.atMs += tickMs
		spent = min(spent+0.4, 1000) // 2500 ticks, of the 3900 that are left
		good += p
		tick(t, w.Account, w.atMs, row("c", day1, spent), row("fast", day1, spent), row("good", day1, good))
		p = find(t, packs(t, w.Account), "good").GetProbability()
		for _, m := range w.Alerts() {
			switch {
			case m.GetPercent() == 0:
				early = append(early, m)
			case m.GetPercent() == 100 && m.GetCampaign() == "good":
				t.Errorf("%v", m)
			}
		}
		if n == 1000 {
			w.takeover()
		}
	}
	if len(early) != 1 || early[0].GetCampaign() != "c" {
		t.Fatalf("%v", early)
	}
	m := early[0]
	if after := time.Duration(m.GetAtMs()-noon()) * time.Millisecond; after < EarlyAfter || after > 3*time.Hour {
		t.Errorf("the alert is after %v", after)
	}
	out := noon() + 2500*tickMs
	if wrong := time.Duration(m.GetRunsOutMs()-out) * time.Millisecond; wrong.Abs() > time.Hour {
		t.Errorf("it expects the end %v after %v", wrong, time.UnixMilli(out).UTC())
	}
}
