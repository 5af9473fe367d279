package billing

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
)

// Day bills one budget day of an account. Add the spend, then call Bill once.
type Day struct {
	budgets *eventspb.DayBudgets
	shared  map[string]*node
	nodes   map[string]*node // campaigns
	spent   map[key]int64    // on the day
}

// key is a campaign in a currency.
type key struct{ campaign, currency string }

// node is a campaign or a shared budget.
type node struct {
	*eventspb.DayBudget
	up     *node   // nil: none
	below  int     // depth below the highest shared budget
	before []int64 // by limit: what the days before have spent of its period
}

// NewDay returns a day without spend. A budget below one that the day does not have is below none.
func NewDay(m *eventspb.DayBudgets) *Day {
	d := &Day{budgets: m, shared: map[string]*node{}, nodes: map[string]*node{}, spent: map[key]int64{}}
	for _, b := range m.GetShared() {
		d.shared[b.GetId()] = &node{DayBudget: b, before: make([]int64, len(b.GetLimits()))}
	}
	for _, b := range m.GetCampaigns() {
		d.nodes[b.GetId()] = &node{DayBudget: b, before: make([]int64, len(b.GetLimits()))}
	}
	for _, n := range d.shared {
		n.up = d.shared[n.GetShared()]
	}
	for _, n := range d.nodes {
		n.up = d.shared[n.GetShared()]
	}
	for _, n := range d.shared {
		for at := n.up; at != nil && n.below <= len(d.shared); at = at.up {
			n.below++
		}
	}
	for _, n := range d.shared {
		if n.below > len(d.shared) { // in a cycle, which no document has
			n.up = nil
		}
	}
	return d
}

// Before returns the spend of days before that Bill needs: of the campaigns, from a day on (0: all
// days), and with lifetime that of closed days. No campaigns: none is needed.
func (d *Day) Before() (campaigns []string, from events.Day, lifetime bool) {
	from = d.day()
	for _, b := range d.budgets.GetCampaigns() {
		needed := false
		for n := d.nodes[b.GetId()]; n != nil; n = n.up {
			for _, l := range n.GetLimits() {
				if first := events.Day(l.GetFrom()); first < d.day() {
					needed, from, lifetime = true, min(from, first), lifetime || l.GetLifetime()
				}
			}
		}
		if needed {
			campaigns = append(campaigns, b.GetId())
		}
	}
	return campaigns, from, lifetime
}

func (d *Day) day() events.Day { return events.Day(d.budgets.GetDay()) }

// Add adds the spend of a campaign on a budget day, or of its closed days, which is day 0. Spend of
// days after the day is ignored.
func (d *Day) Add(campaign string, day events.Day, currency string, micros int64) {
	if day > d.day() {
		return
	}
	if day == d.day() {
		k := key{campaign, currency}
		d.spent[k] = budget.AddMicros(d.spent[k], micros)
		return
	}
	if currency != d.budgets.GetCurrency() {
		return
	}
	for n := d.nodes[campaign]; n != nil; n = n.up {
		for i, l := range n.GetLimits() {
			if day == 0 && l.GetLifetime() || day > 0 && day >= events.Day(l.GetFrom()) {
				n.before[i] = budget.AddMicros(n.before[i], micros)
			}
		}
	}
}

// allowed returns what the budget allows on the day; false: it has none.
func (n *node) allowed() (micros int64, ok bool) {
	for i, l := range n.GetLimits() {
		left := max(0, l.GetPeriodMicros()-max(0, n.before[i]))
		micros, ok = max(micros, min(left, l.GetDayMicros())), true
	}
	return micros, ok
}

// Bill returns the record of each campaign that has spent on the day, in the order of campaigns and
// currencies, and then that of the account.
func (d *Day) Bill() []*eventspb.BilledSpend {
	var list []*eventspb.BilledSpend
	below := map[*node][]*eventspb.BilledSpend{} // those whose amount counts against a shared budget
	for k, spent := range d.spent {
		if spent == 0 {
			continue
		}
		r := d.record(k.campaign, k.currency)
		r.SpentMicros, r.BilledMicros = spent, spent
		list = append(list, r)
		n := d.nodes[k.campaign]
		if n == nil || k.currency != d.budgets.GetCurrency() {
			continue
		}
		if micros, ok := n.allowed(); ok {
			r.BudgetMicros, r.BilledMicros = &micros, min(spent, micros)
		}
		for at := n.up; at != nil; at = at.up {
			below[at] = append(below[at], r)
		}
	}
	slices.SortFunc(list, compare)
	shared := make([]*node, 0, len(below))
	for n, records := range below {
		slices.SortFunc(records, compare)
		shared = append(shared, n)
	}
	slices.SortFunc(shared, func(a, b *node) int { return cmp.Or(cmp.Compare(b.below, a.below), cmp.Compare(a.GetId(), b.GetId())) })
	for _, n := range shared {
		if micros, ok := n.allowed(); ok {
			cut(below[n], micros, n.GetId())
		}
	}
	account := d.record("", d.budgets.GetCurrency())
	account.Records = int32(len(list))
	for _, r := range list {
		if r.GetCurrency() == account.GetCurrency() {
			account.SpentMicros = budget.AddMicros(account.GetSpentMicros(), r.GetSpentMicros())
			account.BilledMicros = budget.AddMicros(account.GetBilledMicros(), r.GetBilledMicros())
		}
	}
	return append(list, account)
}

func compare(a, b *eventspb.BilledSpend) int {
	return cmp.Or(cmp.Compare(a.GetCampaign(), b.GetCampaign()), cmp.Compare(a.GetCurrency(), b.GetCurrency()))
}

// Gone returns the record of the account for a day whose spend is no longer known.
func (d *Day) Gone() []*eventspb.BilledSpend {
	r := d.record("", d.budgets.GetCurrency())
	r.Gone = true
	return []*eventspb.BilledSpend{r}
}

// record returns a record without amounts.
func (d *Day) record(campaign, currency string) *eventspb.BilledSpend {
	return &eventspb.BilledSpend{
		Account: d.budgets.GetAccount(), BudgetDay: d.budgets.GetDay(), Campaign: campaign, Currency: currency,
		Version: d.budgets.GetVersion(), DayEndMs: d.budgets.GetEndMs(),
	}
}

// cut bills less of records that together have more than a shared budget allows: each in proportion
// to its amount, and a micro less of the first ones where that is rounded.
func cut(records []*eventspb.BilledSpend, allowed int64, shared string) {
	var sum, positive int64
	for _, r := range records {
		sum = budget.AddMicros(sum, r.GetBilledMicros())
		positive = budget.AddMicros(positive, max(0, r.GetBilledMicros()))
	}
	if sum <= allowed || positive == 0 {
		return
	}
	excess := sum - allowed
	rest := excess
	less := func(r *eventspb.BilledSpend, micros int64) {
		if micros > 0 {
			r.BilledMicros -= micros
			r.Shared = shared
			rest -= micros
		}
	}
	for _, r := range records {
		hi, lo := bits.Mul64(uint64(max(0, r.GetBilledMicros())), uint64(excess))
		q, _ := bits.Div64(hi, lo, uint64(positive))
		less(r, int64(q))
	}
	for _, r := range records {
		if rest > 0 && r.GetBilledMicros() > 0 {
			less(r, 1)
		}
	}
}
