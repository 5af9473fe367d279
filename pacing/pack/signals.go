package pack

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Query is the spend that a tick of an account needs: that of the day, of all campaigns, and of
// some campaigns that of days before.
type Query struct {
	// Day is the budget day.
	Day events.Day
	// Parts is whether the spend of the day is needed by arm.
	Parts bool
	// Before are the campaigns whose spend of earlier days is needed. None: of no campaign.
	Before []string
	// From is the first of these days. 0: all days.
	From events.Day
	// Lifetime is whether the lifetime rows of Before are needed, too, which have the closed days.
	Lifetime bool
	// Sums takes the rows.
	Sums *Sums
}

// Signals are what is known of the spend of an account at a tick.
type Signals struct {
	AtMs int64 // of the tick: that of Prepare, Unix ms
	// Query is that of Prepare, whose Sums have the spend.
	Query Query
	// Complete is whether Sums have all rows of Query.Before. A merge of datasets may lack some.
	Complete bool
	// Dataset is the datacentre that has counted the spend; empty: a merge.
	Dataset string
	// AgeMs is the age of the spend. It is not used with Unread.
	AgeMs int64
	// Unread is whether the spend of the day could not be read. Sums are not used.
	Unread bool
	// ReportedMs is when ads of any account were reported last to this owner, Unix ms. Reports that
	// end are not ads that end. Defaults to 0: none were.
	ReportedMs int64
	// Recorded takes what the controllers saw, so that package replay can step them again. Defaults
	// to nil: the tick is not recorded.
	Recorded *eventspb.AccountTick
}
