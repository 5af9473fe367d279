package pack

import (
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/control"
)

// Step paces the account at the time of the last Prepare, and returns the parts that are to be
// written, in ascending order. They count as written.
func (a *Account) Step(s *Signals) (parts []int) {
	tickMs, sinceMs := float64(s.AtMs-a.atMs), 0.0
	a.dataset, a.reportedMs = s.Dataset, min(s.ReportedMs, s.AtMs)
	if s.Unread {
		a.dataset = ""
	} else {
		readMs := s.AtMs - max(0, s.AgeMs)
		sinceMs = float64(readMs - a.readMs)
		a.readMs = readMs
		a.count(s)
	}
	a.atMs, a.ageMs = s.AtMs, s.AtMs-a.readMs
	if !s.Unread {
		a.estimate()
	}
	scale := 1.0 // of the cost, from the time between two readings to the time between two steps
	if sinceMs > 0 && tickMs > 0 {
		scale = tickMs / sinceMs
	}
	planned := a.plan.Share(s.AtMs)
	a.override()
	a.beginRecord(s.Recorded, planned)
	demand, learns := a.demandOf(tickMs, sinceMs)
	for i := range a.nodes {
		cost := a.tickCost(&a.nodes[i], tickMs, scale)
		if learns {
			demand.add(&a.nodes[i], cost)
		}
		a.step(i, planned, cost)
	}
	a.learn(&demand)
	a.recording.end()
	for i := range a.nodes {
		a.limit(&a.nodes[i])
	}
	a.alert()
	return a.toWrite()
}

// count takes the spend by node, and computes the budgets of the day that were not known.
func (a *Account) count(s *Signals) {
	sums := s.Query.Sums
	a.others = sums.others
	for i := range a.nodes {
		n := &a.nodes[i]
		n.last, n.spent, n.cost, n.read = n.spent, sums.today[i], n.read, true
		if !n.known && s.Complete {
			n.micros, n.known = n.today.Budget(sums.before[i]), true
		}
	}
}

// arms returns the arms of a campaign, by its number.
func (a *Account) arms(at int) []node { return a.nodes[a.layout.armsAt[at]:a.layout.armsAt[at+1]] }

// step steps the state of a node. cost is that of the ads of the tick, micros.
func (a *Account) step(i int, planned, cost float64) {
	n := &a.nodes[i]
	if !n.paced {
		a.see(i, &control.Observation{})
		if n.reason = ""; n.override != nil {
			n.reason = control.OverrideReason(n.override.GetProbability())
		}
		return
	}
	if n.kind == arm {
		n.micros = n.share.Budget(a.nodes[n.up].micros)
	}
	o := control.Observation{
		AtMs: a.atMs, Day: int32(a.day), Budget: float64(n.micros), Spent: float64(n.spent), Planned: planned, AgeMs: a.ageMs,
		Flight: n.flight(), Cost: cost, Delayed: true, Limited: n.limits, Peers: n.peersAt(a.atMs),
		Paused: n.override != nil, Serves: !n.stopped(),
	}
	day := n.pace.Day
	if !n.cost { // the spend before is not known
		if o.Cost = 0; events.Day(day) == a.day { // no time has passed: the parameters stay
			n.setAt(a.atMs)
		}
	}
	a.see(i, &o)
	before := n.reason
	n.pace, _, n.reason = n.pacer.Step(n.pace, o)
	n.reason = n.reason.Continued(before, n.pace.Day == day)
}

// limit sets the parameters of a node to the least of its own and of those above it.
func (a *Account) limit(n *node) {
	own := n.own()
	n.params, n.limited = own, none
	for up := n.up; up != none; up = a.nodes[up].up {
		p := control.Least(n.params, a.nodes[up].own())
		if p != n.params && n.params.Open { // what has closed the gate is the limit, whatever is above it
			n.limited = up
		}
		n.params = p
	}
	n.limits = control.LimitsOf(own, n.params)
}

// toWrite returns the parts to be written. Accounts write parts that have not moved at different
// times, although all of them have been written together by a new owner.
func (a *Account) toWrite() (list []int) {
	every := WriteAfter.Milliseconds()
	phase := int64(a.hash % uint64(every))
	for i := range a.parts {
		p := &a.parts[i]
		if p.writtenMs == 0 || (a.atMs+phase)/every != (p.writtenMs+phase)/every || a.moved(p) {
			p.writtenMs = a.atMs
			list = append(list, i)
			for n := p.from; n < p.to; n++ {
				a.nodes[n].written, a.nodes[n].alert.logged = a.nodes[n].params, a.nodes[n].alert.alerts
				a.nodes[n].writtenOverride = a.nodes[n].override
				if c := n - len(a.doc.Shared); c >= 0 {
					for i := range a.arms(c) {
						a.arms(c)[i].written, a.arms(c)[i].writtenOverride = a.arms(c)[i].params, a.arms(c)[i].override
					}
				}
			}
		}
	}
	return list
}

// moved reports whether a parameter of a part is not as it was written.
func (a *Account) moved(p *part) bool {
	for n := p.from; n < p.to; n++ {
		if a.nodes[n].moved() {
			return true
		}
		if c := n - len(a.doc.Shared); c >= 0 && slices.ContainsFunc(a.arms(c), func(n node) bool { return n.moved() }) {
			return true
		}
	}
	return false
}
