package pack

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/plan"
)

// Bounds of what is written.
const (
	// PartNodes is the number of nodes of a part, unless one campaign has more arms.
	PartNodes = 100
	// WriteStep is the change of the logarithm of a parameter that is not written.
	WriteStep = 0.02
	// WriteAfter is the greatest age of a part, in time of ticks.
	WriteAfter = time.Minute
	// KeepVersions is the age from which on a version that another one has replaced is not kept: as
	// far, a clock can be set back.
	KeepVersions = 24 * time.Hour
	// MaxOtherDays is the maximum number of other days that a part names.
	MaxOtherDays = 7
)

// Account paces one account. It is not safe for use by several goroutines.
type Account struct {
	name     string
	hash     uint64 // of name
	pacer    *control.Pacer
	versions budget.Versions
	restored map[nodeKey]*node // of the packs of the owner before; nil once nodes are made

	doc    *budget.Document // of which the nodes are made; nil: none is in force
	loc    *time.Location
	day    events.Day
	window plan.Window
	plan   plan.Plan
	nodes  []node // shared budgets, campaigns and arms, each in the order of the document
	layout *layout
	parts  []part
	err    error // why the document in force cannot be used
	// peerDCs are the datacentres that Observe knows.
	peerDCs    []string
	recording  recording
	learning   learning
	reportedMs int64  // Signals.ReportedMs
	currency   string // of the packs of the owner before
	estimated  estimated

	overrides  []*eventspb.CampaignOverride
	inherited  []*eventspb.CampaignOverride // of the packs of the owner before
	overridden bool                         // a node has one of them
	former     int                          // number of parts that may have been written, of the nodes before

	// Of the last tick.
	atMs    int64
	readMs  int64 // when the spend that was read last was right; 0: none was read, also by no owner before
	ageMs   int64
	dataset string
	others  others
	alerts  []*eventspb.BudgetAlert
}

// part is a range of nodes that are written together: of shared budgets and of campaigns, whose
// arms go with them.
type part struct {
	from, to  int
	writtenMs int64 // time of the tick; 0: never, or other nodes
}

// New returns the pacing of an account. pacer may be shared by all accounts.
func New(name string, pacer *control.Pacer) *Account {
	return &Account{name: name, hash: xxhash.Sum64String(name), pacer: pacer}
}

// Name returns the account.
func (a *Account) Name() string { return a.name }

// Err returns why the last Prepare returned false although budgets are in force, nil otherwise.
func (a *Account) Err() error { return a.err }

// InForce returns the document of the last Prepare that returned true, its day, and the time zone.
func (a *Account) InForce() (*budget.Document, events.Day, *time.Location) {
	return a.doc, a.day, a.loc
}

// SetVersions sets the versions of the account's budgets. They count from the next Prepare on,
// which keeps those that are needed. A version that is in force already stays as it is.
func (a *Account) SetVersions(v budget.Versions) {
	a.versions = budget.Versions{List: slices.Clone(v.List)}
	for i, d := range a.versions.List {
		if a.doc != nil && d.Version == a.doc.Version && budget.Compare(d, a.doc) == 0 {
			a.versions.List[i] = a.doc // Prepare compares pointers
		}
	}
}

// Restore continues from the packs that the owner before has written. Call it before the first
// Prepare.
func (a *Account) Restore(packs []*eventspb.AccountPack) {
	a.restored = map[nodeKey]*node{}
	for _, m := range packs {
		if part := m.GetPart(); part >= 0 && part <= math.MaxUint16 { // the number is 2 bytes of a key
			a.former = max(a.former, int(part)+1)
		}
		if !m.GetUnread() {
			a.readMs = max(a.readMs, m.GetAtMs()-m.GetSpendAgeMs())
			a.estimated.readMs = a.readMs
		}
		a.currency = m.GetCurrency()
		if m.GetPlanShape() != nil {
			a.learning = restoredLearning(m.GetPlanShape())
		}
		for _, s := range m.GetShared() {
			n := a.restoredNode(s, nodeKey{kind: shared, id: s.GetId()})
			a.restored[n.nodeKey] = n
		}
		for _, c := range m.GetCampaigns() {
			n := a.restoredNode(c, nodeKey{kind: campaign, id: c.GetId()})
			a.restored[n.nodeKey] = n
			n.override = c.GetOverride()
			if n.override != nil {
				a.inherited = append(a.inherited, n.override)
			}
			for _, s := range c.GetArms() {
				arm := a.restoredNode(s, nodeKey{arm, c.GetId(), s.GetId()})
				arm.override = n.override
				a.restored[arm.nodeKey] = arm
			}
		}
	}
}

// Prepare brings documents and days up to a time, Unix ms, and returns the spend that Step needs.
// ok is false if no budgets are in force, or for the reason of Err: there is no Step then.
func (a *Account) Prepare(atMs int64) (q Query, ok bool) {
	a.versions = a.versions.From(atMs - KeepVersions.Milliseconds())
	a.err = nil
	switch d := a.versions.At(atMs); {
	case d == nil:
		return q, false
	case d != a.doc:
		loc, err := time.LoadLocation(d.Zone)
		if err != nil { // a document is checked before it is stored, maybe with other time zones
			a.err = fmt.Errorf("the time zone of version %d of the budgets: %w", d.Version, err)
			return q, false
		}
		if a.currency != d.Currency {
			a.dropReports()
			a.forgetPotentials()
		}
		a.currency = d.Currency
		a.doc, a.loc = d, loc
		a.begin(events.DayOf(atMs, loc))
		a.makeNodes()
	default:
		if day := events.DayOf(atMs, a.loc); day != a.day {
			a.begin(day)
			for i := range a.nodes {
				n := &a.nodes[i]
				left := n.micros - max(0, n.spent)
				n.spent, n.last, n.alert, n.peers = 0, 0, alertState{}, nil
				n.beginReports()
				n.potential.begin()
				a.beginNode(n)
				n.guess(left)
			}
			for i := range a.parts {
				a.parts[i].writtenMs = 0
			}
		}
	}
	a.clock(atMs)
	return a.query(), true
}

// clock sets times that are later than a tick back to it: the clock was set back, or that of the
// owner before was ahead.
func (a *Account) clock(atMs int64) {
	a.readMs = min(a.readMs, atMs)
	for i := range a.parts {
		a.parts[i].writtenMs = min(a.parts[i].writtenMs, atMs)
	}
	for i := range a.nodes {
		n := &a.nodes[i]
		if r := n.reports; r != nil {
			r.lastMs = min(r.lastMs, atMs)
		}
		if n.setAt(min(n.pace.AtMs, atMs)); events.Day(n.pace.Day) > a.day { // the day begins again
			n.setAt(min(n.pace.AtMs, atMs-1))
		}
	}
}

// query returns the spend that is needed now.
func (a *Account) query() Query {
	s := &Sums{layout: a.layout, day: a.day, today: make([]int64, len(a.nodes))}
	q := Query{Day: a.day, From: a.day, Sums: s, Parts: len(a.nodes) > len(a.doc.Shared)+len(a.doc.Campaigns)}
	for i := range a.nodes {
		if n := &a.nodes[i]; !n.known {
			q.From = min(q.From, n.today.From)
			q.Lifetime = q.Lifetime || n.today.Kind == budget.Lifetime
		}
	}
	if q.From == a.day {
		return q
	}
	s.before, s.unknown = make([]int64, len(a.nodes)), slices.Clone(a.nodes)
	for i := range a.doc.Campaigns {
		for n := len(a.doc.Shared) + i; n != none; n = int(a.nodes[n].up) {
			if !a.nodes[n].known {
				q.Before = append(q.Before, a.doc.Campaigns[i].ID)
				break
			}
		}
	}
	return q
}

// begin sets the day and its plan.
func (a *Account) begin(day events.Day) {
	if day != a.day {
		a.others = others{} // it is not known of the new day
	}
	a.day = day
	a.window, _ = plan.DayWindow(day, a.loc)
	a.plan = plan.New(a.beginPlan(day), a.window, plan.Config{Location: a.loc})
}

func (a *Account) beginNode(n *node) {
	if n.limit != nil {
		n.today = n.limit.OnDay(a.day, a.window, a.loc)
		n.begin()
	}
}

// makeNodes makes the nodes of a document. Those that were there before go on.
func (a *Account) makeNodes() {
	before := a.restored
	if before == nil {
		before = make(map[nodeKey]*node, len(a.nodes))
		for i := range a.nodes {
			before[a.nodes[i].nodeKey] = &a.nodes[i]
		}
	}
	a.restored = nil
	a.recording.partly = false
	a.layout = newLayout(a.doc)
	a.nodes = make([]node, 0, len(a.layout.up))
	below := make([]uint64, len(a.doc.Shared)) // hashes of the campaigns below shared budgets
	for i := range a.doc.Campaigns {
		hash := xxhash.Sum64String(a.doc.Campaigns[i].ID)
		for at := a.layout.up[len(a.doc.Shared)+i]; at != none; at = a.layout.up[at] {
			below[at] = 31*below[at] + hash
		}
	}
	for i := range a.doc.Shared {
		s := &a.doc.Shared[i]
		key := nodeKey{kind: shared, id: s.ID}
		a.addNode(node{nodeKey: key, limit: &s.Limit, paced: s.Limit.Kind != budget.None, hash: below[i]}, before)
	}
	for i := range a.doc.Campaigns {
		c := &a.doc.Campaigns[i]
		key := nodeKey{kind: campaign, id: c.ID}
		a.addNode(node{nodeKey: key, limit: &c.Limit, paced: c.Limit.Kind != budget.None}, before)
	}
	for i := range a.doc.Campaigns {
		c := &a.doc.Campaigns[i]
		for _, x := range c.Arms {
			a.addNode(node{nodeKey: nodeKey{arm, c.ID, x.ID}, share: x, paced: c.Limit.Kind != budget.None}, before)
		}
	}
	a.makeParts()
}

// addNode adds the next node of the layout.
func (a *Account) addNode(n node, before map[nodeKey]*node) {
	n.up, n.limited, n.known = a.layout.up[len(a.nodes)], none, true
	if n.limit != nil {
		n.hash = limitHash(n.limit, a.doc, n.hash)
	}
	if n.kind == arm {
		n.pacer = a.nodes[n.up].pacer
	} else {
		n.pacer = a.pacer.With(n.limit.Controller)
	}
	a.beginNode(&n)
	if o := before[n.nodeKey]; o != nil {
		n.keep(o, a.day)
	}
	a.nodes = append(a.nodes, n)
}

// makeParts divides the nodes.
func (a *Account) makeParts() {
	a.former = max(a.former, len(a.parts))
	a.parts = []part{{}}
	size := 0
	for i := range len(a.doc.Shared) + len(a.doc.Campaigns) {
		if size >= PartNodes {
			a.parts = append(a.parts, part{from: i})
			size = 0
		}
		size++
		if i >= len(a.doc.Shared) {
			size += len(a.doc.Campaigns[i-len(a.doc.Shared)].Arms)
		}
		a.parts[len(a.parts)-1].to = i + 1
	}
}

// Former returns the numbers of the parts that were written and are no longer there. The caller
// deletes them.
func (a *Account) Former() (list []int) {
	for n := len(a.parts); n < a.former; n++ {
		list = append(list, n)
	}
	a.former = 0
	return list
}

// Pack returns a part as it is now. The caller sets the writer and the position of the transaction.
func (a *Account) Pack(number int) *eventspb.AccountPack {
	m := &eventspb.AccountPack{
		Account: a.name, Version: a.doc.Version, Currency: a.doc.Currency, BudgetDay: int32(a.day), BeginMs: a.window.BeginMs,
		EndMs: a.window.EndMs, AtMs: a.atMs, Dataset: a.dataset, OtherCurrencies: a.others.currencies, Planned: a.plan.Share(a.atMs),
		Part: int32(number), Parts: int32(len(a.parts)), Unread: a.readMs == 0,
	}
	if !m.Unread {
		m.SpendAgeMs = a.ageMs
	}
	if number == 0 {
		m.PlanShape = a.learning.record()
		m.PlanShape.Even = a.doc.Plan == budget.PlanEven
	}
	for _, day := range a.others.days {
		m.OtherDays = append(m.OtherDays, int32(day))
	}
	p := a.parts[number]
	for i := p.from; i < p.to; i++ {
		n := a.record(&a.nodes[i])
		if i < len(a.doc.Shared) {
			m.Shared = append(m.Shared, n)
		} else {
			m.Campaigns = append(m.Campaigns, n)
		}
	}
	for i, c := range m.Campaigns {
		for _, n := range a.arms(max(p.from-len(a.doc.Shared), 0) + i) {
			c.Arms = append(c.Arms, a.record(&n))
		}
	}
	return m
}
