package pack

import (
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/control"
)

// WholeAfter is the time between two whole ticks in a recording.
const WholeAfter = 10 * time.Minute

// recording is the recording of an account's ticks.
type recording struct {
	tick   *eventspb.AccountTick // that is recorded now; nil: none
	number uint32                // of the next one
	partly bool                  // the next one need not be whole
	period int64                 // of the last one: a number of WholeAfter
	free   []eventspb.NodeTick
}

// node returns an empty node for the tick. rest is the number of nodes that may follow, with it.
func (r *recording) node(rest int) *eventspb.NodeTick {
	if len(r.free) == 0 {
		r.free = make([]eventspb.NodeTick, min(rest, 32))
	}
	m := &r.free[0]
	r.free = r.free[1:]
	return m
}

// end ends the tick.
func (r *recording) end() { r.tick, r.free = nil, nil }

// seen is what is recorded of a node, beside its state.
type seen struct {
	budget, spent int64
	flight        float64
	condition
}

// condition is what limits a controller, beside the spend.
type condition struct {
	limits      control.Limits
	overridden  bool
	probability float64 // of the override
	peers       control.Peers
}

// beginRecord begins a recorded tick. m may be nil.
func (a *Account) beginRecord(m *eventspb.AccountTick, planned float64) {
	r := &a.recording
	if r.tick = m; m == nil {
		*r = recording{}
		return
	}
	// Accounts have their whole ticks at different times.
	ms := uint64(WholeAfter.Milliseconds())
	period := (a.atMs + int64(a.hash%ms)) / int64(ms)
	whole := !r.partly || period != r.period
	m.Account, m.AtMs, m.BudgetDay, m.Planned, m.SpendAgeMs = a.name, a.atMs, int32(a.day), planned, a.ageMs
	m.Number, m.Whole = r.number, whole
	if whole {
		m.Controller, m.Currency = a.pacer.Controller(), a.doc.Currency
	}
	r.number, r.partly, r.period = r.number+1, true, period
}

// see records what a node sees in the tick, before its step.
func (a *Account) see(i int, o *control.Observation) {
	n, tick := &a.nodes[i], a.recording.tick
	if tick == nil {
		return
	}
	now := seen{n.micros, n.spent, o.Flight, condition{limits: n.limits, overridden: n.override != nil, peers: o.Peers}}
	now.probability = n.override.GetProbability()
	before, replaced := n.seen, n.replaced
	n.seen, n.replaced = now, false
	if !tick.GetWhole() && !replaced && o.Cost == 0 && now == before {
		return
	}
	m := a.recording.node(len(a.nodes) - i)
	m.Node, m.CostMicros, m.Replaced = uint32(i), o.Cost, replaced
	if tick.GetWhole() {
		m.Name, m.Reason = n.name(), string(n.reason)
	}
	if n.paced && (tick.GetWhole() || replaced) {
		m.State = paceRecord(&n.pace)
	}
	if n.paced && (tick.GetWhole() || now.budget != before.budget) {
		m.BudgetMicros = new(now.budget)
	}
	if now.flight != before.flight || tick.GetWhole() && now.flight > 0 {
		m.FlightMicros = new(now.flight)
	}
	if m.SpentMicros = now.spent; !tick.GetWhole() {
		m.SpentMicros -= before.spent
	}
	if tick.GetWhole() || now.condition != before.condition {
		m.Condition = now.condition.record()
	}
	tick.Nodes = append(tick.Nodes, m)
}

// name returns the name of a node for a recording. NodeKind has the kinds in order, from 1 on.
func (n *node) name() *eventspb.NodeName {
	return &eventspb.NodeName{Kind: eventspb.NodeKind(n.kind) + 1, Id: n.id, Above: uint32(n.up + 1), Controller: n.pacer.Controller()}
}

// record returns the condition for a recording.
func (c *condition) record() *eventspb.NodeCondition {
	m := &eventspb.NodeCondition{
		Limited: c.limits.Probability, BidsLimited: c.limits.Bids, Peers: int32(c.peers.Count), PeersLog: c.peers.Log,
	}
	if c.overridden {
		m.OverrideProbability = new(c.probability)
	}
	return m
}
