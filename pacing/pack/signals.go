package pack

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Query is the spend that a tick of an account needs.
type Query struct {
	// From is the first budget day. 0: all days.
	From events.Day
	// Lifetime is whether the lifetime rows are needed, too, which have the closed days.
	Lifetime bool
	// Parts is whether the spend by arm is needed.
	Parts bool
}

// Signals are what is known of the spend of an account at a tick.
type Signals struct {
	AtMs int64 // of the tick: that of Prepare, Unix ms
	// Query is what was read.
	Query Query
	// Rows are the campaign days of the query, in any order.
	Rows []Row
	// Exact is whether the rows are those of one dataset. A merge of several may lack some of them.
	Exact bool
	// Dataset is the datacentre that has counted the spend; empty: a merge.
	Dataset string
	// AgeMs is the age of the spend. It is not used with Unread.
	AgeMs int64
	// Unread is whether the spend could not be read: there are no rows.
	Unread bool
}

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
