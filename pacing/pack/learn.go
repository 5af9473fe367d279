package pack

import (
	"math"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/plan"
)

// learning is what an account learns about the hours of its days. All campaigns of the account have
// the plan that is made of it.
type learning struct {
	zone string     // of the local clock
	day  events.Day // of the plan; 0: none. It never goes back
	now  plan.Learner
	// next is now with the day before: each datacentre has one of its own, and packs have it. The
	// plan of the next day is made of the best one, so it is the same in all datacentres.
	next  plan.Learner
	other *plan.Learner // the best one of other datacentres; nil: none was seen on the day
	today plan.Day      // demand of the day by hour, in minutes of mean demand
}

const (
	// leastChance is the probability below which a campaign takes part in too few auctions to learn
	// from it.
	leastChance = 1e-3
	// longestTick is the time between two readings of the spend above which is not known to which
	// hour it belongs.
	longestTick = time.Minute
	// enoughMinutes is for how long a campaign is known before it counts.
	enoughMinutes = 60
)

// beginPlan begins a day, and returns the shape of its plan.
func (a *Account) beginPlan(day events.Day) plan.Shape {
	l := &a.learning
	if l.zone != a.doc.Zone {
		*l = learning{zone: a.doc.Zone}
	}
	if l.day == 0 {
		l.day = day
	}
	if l.day < day {
		if l.other != nil && l.other.Better(&l.next) {
			l.next = *l.other
		}
		l.now = l.next
		l.next.Learn(&l.today)
		l.day, l.other, l.today = day, nil, plan.Day{}
	}
	if a.doc.Plan == budget.PlanEven {
		return plan.Uniform()
	}
	return l.now.Shape()
}

// observe takes what another datacentre has learnt up to the day before.
func (l *learning) observe(m *eventspb.PlanShape) {
	if m.GetZone() != l.zone || m.GetDay() != int32(l.day) {
		return
	}
	if next := restoredLearner(m.GetNext()); l.other == nil || next.Better(l.other) {
		l.other = &next
	}
}

// forgetPotentials forgets amounts, which are of another currency.
func (a *Account) forgetPotentials() {
	a.learning.today = plan.Day{}
	for i := range a.nodes {
		a.nodes[i].potential = potential{}
	}
	for _, n := range a.restored {
		n.potential = potential{}
	}
}

// potential is what a campaign could have spent in a minute of a mean hour, micros: with each
// auction that it could have had, while its gate was open. Campaigns differ in it, and are open at
// different times of the day, so each counts by its own mean.
type potential struct {
	mean         float32 // of the days before; 0: it is not known
	sum, minutes float32 // of the present day; minutes are weighted by the shape
}

// known returns the mean, 0 if it is not known yet.
func (p *potential) known() float64 {
	if p.mean == 0 && p.minutes >= enoughMinutes {
		return float64(p.sum / p.minutes)
	}
	return float64(p.mean)
}

// valid reports whether all numbers are finite and not negative.
func (p *potential) valid() bool {
	for _, v := range [...]float32{p.mean, p.sum, p.minutes} {
		if !(v >= 0 && v <= math.MaxFloat32) {
			return false
		}
	}
	return true
}

// begin begins a day.
func (p *potential) begin() {
	if p.minutes >= enoughMinutes {
		p.mean = p.sum / p.minutes
	}
	p.sum, p.minutes = 0, 0
}

// demand is how the demand of a tick compares with the mean of a day, by campaigns that could be
// compared.
type demand struct {
	hour        int     // of the local clock of the spend
	tickMinutes float64 // since the last tick
	minutes     float64 // since the last reading of the spend
	share       float64 // minutes, weighted by the shape
	sum         float64 // of minutes of mean demand, times weight
	weight      float64 // micros
	actions     float64 // campaigns with a cost: each had one charge at least
}

// demandOf begins a tick, with the time since the last tick and since the last reading of the spend
// in ms; false: it is not learnt from.
func (a *Account) demandOf(tickMs, sinceMs float64) (d demand, ok bool) {
	if a.ageMs >= control.HoldAfter.Milliseconds() || tickMs <= 0 || sinceMs <= 0 || sinceMs > float64(longestTick.Milliseconds()) {
		return d, false
	}
	d.tickMinutes, d.minutes = tickMs/float64(time.Minute.Milliseconds()), sinceMs/float64(time.Minute.Milliseconds())
	d.hour = time.UnixMilli(a.readMs).In(a.loc).Hour()
	d.share = d.minutes * a.learning.next.Share(d.hour) * float64(len(plan.Shape{}))
	return d, true
}

// add adds a campaign, with the cost of its ads in the tick that has passed, before its parameters
// change. Its weight is its budget, or less if it cannot spend that.
func (d *demand) add(n *node, cost float64) {
	chance := n.params.Probability * n.params.Multiplier
	if n.kind != campaign || !n.paced || !n.cost || n.micros <= 0 || !n.params.Open || n.override != nil || chance < leastChance {
		return
	}
	could := cost / d.tickMinutes * d.minutes / chance
	if mean := n.potential.known(); mean > 0 {
		weight := min(float64(n.micros), mean*(24*time.Hour).Minutes())
		d.sum += could / mean * weight
		d.weight += weight
		if cost > 0 {
			d.actions++
		}
	}
	n.potential.sum += float32(could)
	n.potential.minutes += float32(d.share)
}

// learn takes the demand of a tick.
func (a *Account) learn(d *demand) {
	if d.weight > 0 {
		a.learning.today.Add(d.hour, d.sum/d.weight, d.minutes)
		a.learning.today.Actions += d.actions
	}
}

// record returns what was learnt for a pack.
func (l *learning) record() *eventspb.PlanShape {
	m := &eventspb.PlanShape{
		Zone: l.zone, Day: int32(l.day), Now: learnerRecord(&l.now), Next: learnerRecord(&l.next), Actions: l.today.Actions,
	}
	for h, hour := range l.today.Hours {
		if hour.Minutes > 0 {
			m.Hours = append(m.Hours, int32(h))
			m.Demand, m.Minutes = append(m.Demand, float32(hour.Micros)), append(m.Minutes, float32(hour.Minutes))
		}
	}
	return m
}

// learnerRecord returns a learner for a pack: nil for one that has learnt nothing.
func learnerRecord(l *plan.Learner) *eventspb.LearntShape {
	if l.Days == 0 {
		return nil
	}
	m := &eventspb.LearntShape{Days: l.Days}
	for _, share := range l.Shape() {
		m.Shares = append(m.Shares, float32(share))
	}
	return m
}

func restoredLearner(m *eventspb.LearntShape) plan.Learner {
	var shape plan.Shape
	for h := range min(len(shape), len(m.GetShares())) {
		shape[h] = float64(m.GetShares()[h])
	}
	return plan.RestoreLearner(shape, m.GetDays())
}

// restoredLearning continues from a record.
func restoredLearning(m *eventspb.PlanShape) learning {
	l := learning{zone: m.GetZone(), day: events.Day(m.GetDay()), now: restoredLearner(m.GetNow()), next: restoredLearner(m.GetNext())}
	l.today.Actions = m.GetActions()
	for i := range min(len(m.GetHours()), len(m.GetDemand()), len(m.GetMinutes())) {
		if h := m.GetHours()[i]; h >= 0 && int(h) < len(l.today.Hours) {
			l.today.Hours[h] = plan.Hour{Micros: float64(m.GetDemand()[i]), Minutes: float64(m.GetMinutes()[i])}
		}
	}
	return l
}
