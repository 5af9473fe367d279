package api

import (
	"cmp"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// spendRows makes rows of campaign days: one for each, or sums. Sums are checked.
type spendRows struct {
	sums checkedSums
}

// newSpendRow returns the row of a campaign day, without figures.
func newSpendRow(s *eventspb.Spend) *weirpb.SpendRow {
	return &weirpb.SpendRow{Account: s.GetAccount(), Campaign: s.GetCampaign(), Day: dayText(s.GetBudgetDay()), Currency: s.GetCurrency()}
}

// add adds a campaign day to a row.
func (r *spendRows) add(row *weirpb.SpendRow, s *eventspb.Spend) {
	for _, dc := range s.GetByDc() {
		r.sums.micros("charged_micros", &row.ChargedMicros, dc.GetChargedMicros())
		r.sums.micros("refunded_micros", &row.RefundedMicros, dc.GetRefundedMicros())
		for _, n := range dc.GetEvents() {
			r.sums.count("events", &row.Events, n.GetCount())
			switch n.GetType() {
			case eventspb.EventType_EVENT_TYPE_IMPRESSION:
				r.sums.count("impressions", &row.Impressions, n.GetCount())
			case eventspb.EventType_EVENT_TYPE_CLICK:
				r.sums.count("clicks", &row.Clicks, n.GetCount())
			default: // other types have no figure of their own
			}
		}
	}
	r.sums.count("duplicates", &row.Duplicates, s.GetDuplicates())
}

// err reports a sum that does not fit.
func (r *spendRows) err() error {
	if r.sums.overflow == "" {
		return nil
	}
	return errorf(connect.CodeOutOfRange, "a sum of %s does not fit 64 bits: request fewer days, or campaign days without sums",
		r.sums.overflow)
}

// compareRows orders rows by campaign and place.
func compareRows(a, b *weirpb.SpendRow) int {
	return cmp.Or(cmp.Compare(a.GetCampaign(), b.GetCampaign()), cmp.Compare(place(a), place(b)))
}

// place is the place of a row among those of its campaign, or of a sum among those of its account:
// by day, hour, line item, arm and currency. Closed days come first, as in the store.
func place(r *weirpb.SpendRow) string {
	day := r.GetDay()
	if day == ClosedDays {
		day = "0000-00-00"
	}
	return day + r.GetHour() + r.GetLineItem() + r.GetArm() + r.GetCurrency() // a currency has three letters
}
