package pack

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// kind is what a node is.
type kind byte

const (
	shared kind = iota
	campaign
	arm
)

// nodeKey identifies a node of an account from one document to the next.
type nodeKey struct {
	kind     kind
	campaign string // of an arm
	id       string
}

// node is a shared budget, a campaign or an arm.
type node struct {
	nodeKey
	up    int32          // index of the node above; none
	limit *budget.Limit  // nil: an arm
	share budget.Arm     // of an arm
	paced bool           // it has a budget, and so a state of control
	pacer *control.Pacer // of its controller; nil: of a restored node, one that is not known

	today  budget.DayLimit // of limit
	hash   uint64          // of limit
	micros int64           // budget of the day
	known  bool            // micros is that of the day and of the limit

	spent int64 // on the day, at the last tick whose spend could be read
	last  int64 // spent at the tick before
	read  bool  // spent was read
	cost  bool  // last was read, too: the difference is the cost of a tick
	pace  control.Pace

	reason  control.Reason
	params  control.Params // the least of its own and of those above it
	limited int32          // index of the node above with the least parameters; none: its own are
	limits  control.Limits // of its own
	written control.Params

	alert   alertState
	peers   []peer   // of other datacentres
	reports *reports // of ad servers; nil: none was there

	potential potential // of a campaign

	override, writtenOverride *eventspb.CampaignOverride // in force, and in the pack; nil: none

	seen     seen // of the last recorded tick
	replaced bool // pace is not the result of the last step
}

const none = -1

// Values of eventspb.PacedNode.no_budget.
const (
	NoFlight    = "no_flight"
	AmountZero  = "amount_zero"
	PeriodSpent = "period_spent"
	NotKnown    = "not_known"
)

// own returns the parameters of the node alone.
func (n *node) own() control.Params {
	p := control.Unlimited()
	if n.paced {
		p = control.Params{Open: n.pace.Open, Probability: n.pace.Probability, Multiplier: n.pace.Multiplier}
	}
	if n.override != nil {
		p = p.Override(n.override.GetProbability())
	}
	return p
}

// setAt sets the time of the last step.
func (n *node) setAt(ms int64) {
	n.replaced = n.replaced || n.pace.AtMs != ms
	n.pace.AtMs = ms
}

// begin sets the budget of a day. It is not known yet if it depends on earlier days.
func (n *node) begin() {
	n.known = !n.today.Running || n.today.From == n.today.To
	if n.known {
		n.micros = n.today.Budget(0)
	}
}

// noBudget returns why a campaign or a shared budget has nothing for the day.
func (n *node) noBudget() string {
	switch {
	case !n.known:
		return NotKnown
	case !n.today.Running:
		return NoFlight
	case n.limit.Micros == 0:
		return AmountZero
	case n.limit.Kind == budget.Lifetime || n.limit.Kind == budget.AverageDaily:
		return PeriodSpent
	}
	return ""
}

// countsBefore reports whether the spend of a row of an earlier day counts against the budget of
// the day, which is not known. A lifetime row may have days from before the first flight: it is
// not known how much.
func (n *node) countsBefore(day events.Day) bool {
	switch {
	case n.known:
		return false
	case day == 0:
		return n.today.Kind == budget.Lifetime
	}
	return day >= n.today.From
}

// moved reports whether the parameters are no longer those that were written.
func (n *node) moved() bool {
	// The logarithm of 1+WriteStep is less than WriteStep.
	far := func(a, b float64) bool { return a > (1+WriteStep)*b || b > (1+WriteStep)*a }
	return n.params.Open != n.written.Open || n.override != n.writtenOverride ||
		n.alert.alerts != n.alert.logged || far(n.params.Probability, n.written.Probability) ||
		far(n.params.Multiplier, n.written.Multiplier)
}

// keep takes over what another node of the same key knows. day is the present day.
func (n *node) keep(o *node, day events.Day) {
	n.pace, n.reason, n.params, n.written = o.pace, o.reason, o.params, o.written
	another := o.pacer == nil || n.pacer.Controller() != o.pacer.Controller()
	if another {
		n.pace, n.replaced = n.pacer.Continue(n.pace), true
	}
	n.override, n.writtenOverride = o.override, o.writtenOverride
	if events.Day(o.pace.Day) == day {
		if !another { // the parameters of others are of the controller before
			n.peers = o.peers
		}
		n.spent, n.last, n.read, n.cost = o.spent, o.last, o.read, o.cost
	}
	n.keepReports(o, events.Day(o.pace.Day) == day)
	if n.potential = o.potential; events.Day(o.pace.Day) != day {
		n.potential.begin()
	}
	if o.known && o.hash == n.hash && events.Day(o.pace.Day) == day {
		n.micros, n.known = o.micros, true
	}
	n.keepAlerts(o, day)
	left := o.micros
	if events.Day(o.pace.Day) != day {
		left -= max(0, o.spent)
	}
	n.guess(left)
}

// guess sets the budget of a day that is not known until the spend before the day can be read: what
// was left of the budget before, if the day may have so much.
func (n *node) guess(left int64) {
	if !n.known {
		n.micros = max(0, min(left, n.today.DayMicros))
	}
}

// limitHash returns a hash of all that a budget is computed from, beside the spend. below is a hash
// of the campaigns whose spend counts.
func limitHash(l *budget.Limit, d *budget.Document, below uint64) uint64 {
	b := binary.BigEndian.AppendUint64([]byte(d.Zone+" "+d.Currency), below)
	b = binary.BigEndian.AppendUint32(b, uint32(l.Kind))
	b = binary.BigEndian.AppendUint64(b, uint64(l.Micros))
	b = binary.BigEndian.AppendUint32(b, uint32(l.CapPPM))
	for _, f := range l.Flights {
		b = binary.BigEndian.AppendUint64(b, uint64(f.Begin)<<32|uint64(f.End))
	}
	return xxhash.Sum64(b)
}

// record returns the node for a pack.
func (a *Account) record(n *node) *eventspb.PacedNode {
	m := &eventspb.PacedNode{
		Id: n.id, Open: n.params.Open, Probability: n.params.Probability, Multiplier: n.params.Multiplier, Reason: string(n.reason),
		BudgetMicros: n.micros, SpentMicros: n.spent, AlertedPercent: n.alert.percent, AlertedEarly: n.alert.early,
		Controller: n.pacer.Controller(),
	}
	if n.limited != none {
		above := &a.nodes[n.limited]
		if m.LimitedBy, m.LimitedByKind = above.id, eventspb.LimitedByKind_LIMITED_BY_KIND_SHARED; above.kind == campaign {
			m.LimitedByKind = eventspb.LimitedByKind_LIMITED_BY_KIND_CAMPAIGN
		}
	}
	if n.known {
		m.LimitHash = n.hash
	}
	m.LastsMs, m.InFlight = a.lasts(n), n.inFlight()
	if n.kind == campaign {
		if m.Override = n.override; n.up != none {
			m.Shared = a.nodes[n.up].id
		}
	}
	if n.reason == control.NoBudget && n.limit != nil {
		if m.NoBudget = n.noBudget(); m.NoBudget == NoFlight {
			m.NextFlight = int32(n.limit.NextFlight(a.day))
		}
	}
	if n.paced {
		m.State = paceRecord(&n.pace)
	}
	m.Potential, m.PotentialSum, m.PotentialMinutes = n.potential.mean, n.potential.sum, n.potential.minutes
	return m
}

// leftMs returns for how long the budget of the node lasts if the spend continues at its mean rate,
// in ms: infinite without a rate.
func (n *node) leftMs() float64 {
	if !(n.pace.Rate > 0) {
		return math.Inf(1)
	}
	return n.pace.Allowance / n.pace.Rate * float64(control.Tick.Milliseconds())
}

// lasts returns for how long the least of the budgets of a node, and of those above it, lasts if
// the spend continues at its mean rate, in ms: nil if that is not known, or more than a day.
func (a *Account) lasts(n *node) (ms *int64) {
	least := float64((24 * time.Hour).Milliseconds())
	for {
		if left := n.leftMs(); n.paced && left < least {
			least, ms = left, new(int64(left))
		}
		if n.up == none {
			return ms
		}
		n = &a.nodes[n.up]
	}
}

// restoredNode returns the node of a record.
func (a *Account) restoredNode(m *eventspb.PacedNode, key nodeKey) *node {
	pacer := a.pacer.With(m.GetController())
	if of := m.GetController(); of != "" && of != pacer.Controller() {
		pacer = nil // this version does not know it
	}
	n := &node{
		nodeKey: key, pacer: pacer, micros: m.GetBudgetMicros(), spent: m.GetSpentMicros(), last: m.GetSpentMicros(),
		hash:   m.GetLimitHash(),
		reason: control.Reason(m.GetReason()), known: m.GetLimitHash() != 0 || key.kind == arm,
		params: control.Params{Open: m.GetOpen(), Probability: m.GetProbability(), Multiplier: m.GetMultiplier()},
	}
	n.written = n.params
	n.alert.alerts = alerts{m.GetAlertedPercent(), m.GetAlertedEarly()}
	n.alert.logged, n.alert.micros = n.alert.alerts, n.micros
	n.pace = Pace(m.GetState())
	if !n.pace.Valid() || !n.params.Valid() { // it begins again
		return &node{nodeKey: key, pacer: pacer}
	}
	n.restoreReports(m.GetInFlight())
	if p := (potential{m.GetPotential(), m.GetPotentialSum(), m.GetPotentialMinutes()}); p.valid() {
		n.potential = p
	}
	return n
}
