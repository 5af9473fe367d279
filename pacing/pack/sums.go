package pack

import (
	"slices"
	"strings"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
)

// Row is the spend of a campaign on a budget day in a currency.
type Row struct {
	Campaign string
	Day      events.Day // 0: the lifetime row
	Currency string
	Micros   int64 // charged, less refunds
	Arms     []ArmSpend
}

// ArmSpend is the part of a Row that is of one arm.
type ArmSpend struct {
	Arm    string
	Micros int64
}

// NewRow returns the row of a Spend. parts are those of its line items and arms.
func NewRow(s *eventspb.Spend, parts []*eventspb.PartSpend) Row {
	r := Row{Campaign: s.GetCampaign(), Day: events.Day(s.GetBudgetDay()), Currency: s.GetCurrency()}
	for _, by := range s.GetByDc() {
		r.Micros += by.GetChargedMicros() - by.GetRefundedMicros()
	}
	for _, p := range parts {
		if p.GetArm() != "" {
			r.Arms = append(r.Arms, ArmSpend{p.GetArm(), p.GetChargedMicros()})
		}
	}
	return r
}

// Sums are the spend of an account by node. Rows are added one by one, so that those of a long time
// are not in memory together. It is used by one goroutine at a time.
type Sums struct {
	*layout
	day     events.Day
	today   []int64 // by node
	others  others
	before  []int64 // by node: spend of the days before; nil: it is not needed
	unknown []node  // with before: copies of the nodes, whose budgets are partly not known
}

// others are of spend that is not counted on the day, although its campaigns are in the document.
type others struct {
	currencies []string     // of the day, in order
	days       []events.Day // later ones, in order; the first MaxOtherDays of them
}

// addDay adds a later day.
func (o *others) addDay(day events.Day) {
	if at, found := slices.BinarySearch(o.days, day); !found && at < MaxOtherDays {
		o.days = slices.Insert(o.days, at, day)
		o.days = o.days[:min(len(o.days), MaxOtherDays)]
	}
}

// addCurrency adds a currency.
func (o *others) addCurrency(currency string) {
	if at, found := slices.BinarySearch(o.currencies, currency); !found {
		o.currencies = slices.Insert(o.currencies, at, currency)
	}
}

// layout is the order of the nodes of a document. It does not change.
type layout struct {
	doc    *budget.Document
	up     []int32 // by node: that above it
	armsAt []int32 // by campaign: its first arm; one more behind the last
}

func newLayout(d *budget.Document) *layout {
	l := &layout{doc: d}
	below := func(id string) { // adds a node below a shared budget
		i, ok := l.sharedAt(id)
		if !ok {
			i = none
		}
		l.up = append(l.up, int32(i))
	}
	for i := range d.Shared {
		below(d.Shared[i].Parent)
	}
	for i := range d.Campaigns {
		below(d.Campaigns[i].Shared)
	}
	for i := range d.Campaigns {
		l.armsAt = append(l.armsAt, int32(len(l.up)))
		for range d.Campaigns[i].Arms {
			l.up = append(l.up, int32(len(d.Shared)+i))
		}
	}
	l.armsAt = append(l.armsAt, int32(len(l.up)))
	return l
}

// sharedAt returns the node of a shared budget.
func (l *layout) sharedAt(id string) (node int, ok bool) {
	return slices.BinarySearchFunc(l.doc.Shared, id, func(s budget.Shared, id string) int { return strings.Compare(s.ID, id) })
}

// campaignAt returns the number of a campaign, and its node.
func (l *layout) campaignAt(id string) (at, node int, ok bool) {
	at, ok = slices.BinarySearchFunc(l.doc.Campaigns, id, func(c budget.Campaign, id string) int { return strings.Compare(c.ID, id) })
	return at, len(l.doc.Shared) + at, ok
}

// AddToday adds a row of the day. Of a row of a later day, or of another currency, it keeps the day
// or the currency alone. It ignores rows of earlier days, and of campaigns that the document does
// not have.
func (s *Sums) AddToday(r *Row) {
	at, n, ok := s.campaignAt(r.Campaign)
	switch {
	case !ok, r.Day < s.day:
		return
	case r.Day > s.day:
		if r.Micros != 0 {
			s.others.addDay(r.Day)
		}
		return
	case r.Currency != s.doc.Currency:
		if r.Micros != 0 {
			s.others.addCurrency(r.Currency)
		}
		return
	}
	for ; n != none; n = int(s.up[n]) {
		s.today[n] = budget.AddMicros(s.today[n], r.Micros)
	}
	arms := s.doc.Campaigns[at].Arms
	rest := r.Micros // what is not counted by arm
	for i := range arms {
		for _, x := range r.Arms {
			if x.Arm == arms[i].ID {
				n := int(s.armsAt[at]) + i
				s.today[n] = budget.AddMicros(s.today[n], x.Micros)
				rest = budget.AddMicros(rest, -x.Micros)
			}
		}
	}
	for i := range arms {
		n := int(s.armsAt[at]) + i
		s.today[n] = budget.AddMicros(s.today[n], arms[i].Budget(max(0, rest)))
	}
}

// AddBefore adds a row of an earlier day, or a lifetime row, if a budget of the day depends on it.
func (s *Sums) AddBefore(r *Row) {
	_, n, ok := s.campaignAt(r.Campaign)
	if !ok || s.before == nil || r.Day >= s.day || r.Currency != s.doc.Currency {
		return
	}
	for ; n != none; n = int(s.up[n]) {
		if s.unknown[n].countsBefore(r.Day) {
			s.before[n] = budget.AddMicros(s.before[n], r.Micros)
		}
	}
}
