package pack

import (
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/plan"
)

// EarlyAfter is for how long a budget has to be expected to run out by plan.Early, before that is
// an alert. After a cut of the budget a controller needs up to half an hour to lower the rate of
// spend, and the mean of the rate follows later.
const EarlyAfter = time.Hour

// percentages returns the parts of a budget that are alerts when they are spent.
func percentages() [3]int32 { return [...]int32{50, 80, 100} }

// alerts are those of a node on a day.
type alerts struct {
	percent int32 // the greatest one
	early   bool
}

// alertState is what a node remembers of its alerts.
type alertState struct {
	alerts
	logged  alerts // as they were written
	micros  int64  // the budget that they are of
	earlyMs int64  // since when the budget has been expected to run out early; 0: it is not
}

// Alerts returns the alerts of the last Step, in the order of the document: shared budgets, then
// campaigns. The packs that Step names remember them.
func (a *Account) Alerts() []*eventspb.BudgetAlert { return a.alerts }

// alert collects the alerts of a tick.
func (a *Account) alert() {
	a.alerts = nil
	for i := range a.nodes {
		n := &a.nodes[i]
		if !n.paced || !n.known || n.kind == arm {
			continue
		}
		reached := int32(0)
		for _, p := range percentages() {
			if n.micros > 0 && n.spent >= share(n.micros, p) {
				reached = p
			}
		}
		s := &n.alert
		if n.micros != s.micros { // after an increase, what is reached again is a new alert
			s.percent, s.micros = min(s.percent, reached), n.micros
		}
		for _, p := range percentages() {
			if p > s.percent && p <= reached {
				s.percent = p
				a.alerts = append(a.alerts, a.newAlert(n, p))
			}
		}
		if n.runsEarly(a) && !s.early {
			s.early = true
			a.alerts = append(a.alerts, a.newAlert(n, 0))
		}
	}
}

// share returns a percentage of an amount, rounded up.
func share(micros int64, percent int32) int64 {
	p := int64(percent)
	return micros/100*p + (micros%100*p+99)/100
}

// runsOutMs returns when the budget of a node is spent if the spend continues at its mean rate; 0:
// it is spent, or lasts for the day.
func (n *node) runsOutMs(a *Account) int64 {
	if left := n.leftMs(); n.pace.Open && !n.stopped() && left < float64(a.window.EndMs-a.atMs) {
		return a.atMs + int64(left)
	}
	return 0
}

// runsEarly reports whether the budget has been expected to run out early for long enough. One that
// is spent as soon as possible is to do so.
func (n *node) runsEarly(a *Account) bool {
	out := n.runsOutMs(a)
	s := &n.alert
	switch {
	case !control.FollowsPlan(n.pacer.Controller()), out == 0, out >= a.window.EndMs-plan.Early.Milliseconds():
		s.earlyMs = 0
	case s.earlyMs == 0 || s.earlyMs > a.atMs: // the clock may have been ahead
		s.earlyMs = a.atMs
	}
	return s.earlyMs > 0 && a.atMs-s.earlyMs >= EarlyAfter.Milliseconds()
}

func (a *Account) newAlert(n *node, percent int32) *eventspb.BudgetAlert {
	m := &eventspb.BudgetAlert{
		Account: a.name, BudgetDay: int32(a.day), Currency: a.doc.Currency, Percent: percent, BudgetMicros: n.micros, SpentMicros: n.spent,
		AtMs: a.atMs, RunsOutMs: n.runsOutMs(a), DayEndMs: a.window.EndMs, Version: a.doc.Version,
	}
	if n.kind == shared {
		m.Shared = n.id
	} else {
		m.Campaign = n.id
	}
	return m
}

// keepAlerts takes over the alerts of the same node of before, if they are of the day.
func (n *node) keepAlerts(o *node, day events.Day) {
	if events.Day(o.pace.Day) == day {
		n.alert = o.alert
	}
}
