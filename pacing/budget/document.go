package budget

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Limits of a document. They bound the work per record, and the size of a request.
const (
	MaxCampaigns = 10_000
	MaxShared    = 1_000
	MaxFlights   = 100 // of a budget
	MaxArms      = 100 // of a campaign
	MaxIDBytes   = 256 // of an account, a campaign, a shared budget and an arm: as in events
	MaxBytes     = 256 << 10
	// MaxMicros is the greatest amount, 100 thousand million units of a currency. That amount for
	// each day of a month fits in 64 bits.
	MaxMicros = 100_000_000_000_000_000
	// MaxVersion is the greatest version: the greatest integer that every JSON parser reads.
	MaxVersion = 1<<53 - 1
)

// PPM is the whole in parts per million: the sum of the shares of arms, and a cap of 1.0.
const PPM = 1_000_000

// NoEnd is the End of a flight without an end.
const NoEnd events.Day = 9999_12_31

// Document is a version of the budgets of an account. Decode and FromRecord return valid documents
// in their normal order: shared budgets, campaigns, flights and arms are sorted.
type Document struct {
	Account     string
	Version     uint64 // 0: not chosen yet
	Zone        string // IANA name of the time zone of budget days
	Currency    string // ISO 4217 code of all amounts
	Plan        string // of a day: PlanLearnt or PlanEven; empty: PlanLearnt
	EffectiveMs int64  // the version holds from here on, Unix ms; 0: at once
	Shared      []Shared
	Campaigns   []Campaign
}

// Values of Document.Plan.
const (
	PlanLearnt = "learnt" // by the hours of earlier days
	PlanEven   = "even"   // all hours alike
)

// Kind is what the amount of a Limit is. It has the numbers of eventspb.BudgetKind.
type Kind int32

// Kinds of budgets.
const (
	None         = Kind(eventspb.BudgetKind_BUDGET_KIND_UNSPECIFIED)
	Daily        = Kind(eventspb.BudgetKind_BUDGET_KIND_DAILY)
	Lifetime     = Kind(eventspb.BudgetKind_BUDGET_KIND_LIFETIME)
	AverageDaily = Kind(eventspb.BudgetKind_BUDGET_KIND_AVERAGE_DAILY)
)

// String returns the name of the field that has the amount, "none" for None.
func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case Daily:
		return "daily"
	case Lifetime:
		return "lifetime"
	case AverageDaily:
		return "average_daily"
	}
	return "unknown"
}

// Limit is a budget.
type Limit struct {
	Kind    Kind
	Micros  int64    // 0 to MaxMicros
	CapPPM  int32    // of AverageDaily, PPM to 2 PPM: the most of a day, in parts of the average
	Flights []Flight // in order, without a day in common; none: always
	// Controller is the name of the rule that paces it: see package control. Empty: control.Ratio.
	Controller string
}

// Flight is a range of budget days, both included.
type Flight struct{ Begin, End events.Day }

// Shared is a budget that campaigns share, and other shared budgets.
type Shared struct {
	ID     string
	Parent string // shared budget above it; empty: none
	Limit  Limit
}

// Campaign is the budget of a campaign.
type Campaign struct {
	ID     string
	Shared string // shared budget above it; empty: none
	Limit  Limit  // of kind None: only the shared budget limits the campaign
	Arms   []Arm  // none: no experiment
}

// Arm is an experiment arm with its share of the campaign's budget.
type Arm struct {
	ID  string
	PPM int32 // the shares of a campaign add up to PPM
}

// Campaign returns the budget of a campaign of a document in normal order; false: it has none.
func (d *Document) Campaign(id string) (*Campaign, bool) {
	i, ok := slices.BinarySearchFunc(d.Campaigns, id, func(c Campaign, id string) int { return strings.Compare(c.ID, id) })
	if !ok {
		return nil, false
	}
	return &d.Campaigns[i], true
}

// shared returns a shared budget of a document in normal order.
func (d *Document) shared(id string) (*Shared, bool) {
	i, ok := slices.BinarySearchFunc(d.Shared, id, func(s Shared, id string) int { return strings.Compare(s.ID, id) })
	if !ok {
		return nil, false
	}
	return &d.Shared[i], true
}

// normalize sorts the parts of d.
func (d *Document) normalize() {
	slices.SortFunc(d.Shared, func(a, b Shared) int { return strings.Compare(a.ID, b.ID) })
	slices.SortFunc(d.Campaigns, func(a, b Campaign) int { return strings.Compare(a.ID, b.ID) })
	for i := range d.Shared {
		sortFlights(d.Shared[i].Limit.Flights)
	}
	for i := range d.Campaigns {
		c := &d.Campaigns[i]
		sortFlights(c.Limit.Flights)
		slices.SortFunc(c.Arms, func(a, b Arm) int { return strings.Compare(a.ID, b.ID) })
	}
}

func sortFlights(list []Flight) {
	slices.SortFunc(list, func(a, b Flight) int { return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End)) })
}
