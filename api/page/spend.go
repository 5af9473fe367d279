package page

import (
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// Spend is the content of the page of an account or of a campaign, or of a search for either.
type Spend struct {
	Now               time.Time
	Query             string // search for an account or a campaign; empty: no search
	Account, Campaign string
	// Days are the campaign days of Campaign, the newest first. DaysErr is why there are none.
	Days    []*weirpb.SpendRow
	DaysErr string
	Cut     int // number of days that Days leaves out
	// Campaigns are the campaigns of Account. CampaignsErr is why there are none.
	Campaigns    []*weirpb.SpendRow
	CampaignsErr string
	Next         string // path of the next page of campaigns; empty: this is the last
	// Pacing is how Campaign, or all campaigns of Account, take part in auctions. Nil: the process
	// does not pace, or the account is not known.
	Pacing *Pacing
	// Datasets are what each dataset of the datacentre has of Campaign. Nil: there is one
	// datacentre only, or no campaign.
	Datasets *CampaignDatasets
}

// Updated returns the time of day of the page.
func (s *Spend) Updated() string { return s.Now.UTC().Format(time.TimeOnly) }

// CutNumber returns Cut with separators; empty if no day is left out.
func (s *Spend) CutNumber() string {
	if s.Cut == 0 {
		return ""
	}
	return count(s.Cut)
}

// DayTable returns the table of Days.
func (s *Spend) DayTable() Table { return newTable(s.Days) }

// CampaignTable returns the table of Campaigns.
func (s *Spend) CampaignTable() Table { return newTable(s.Campaigns) }

// Table is a table of spend. Refunds, duplicates, accounts and currencies have a column only if
// they differ from row to row or from 0.
type Table struct {
	Rows                                        []TableRow
	Accounts, Currencies, Refunds, Duplications bool
}

// TableRow is a row of a Table.
type TableRow struct {
	Rank                                                             int
	Account, Campaign, Day, Currency                                 string
	Charged, Refunded, Impressions, Clicks, Events, Duplicates, Path string
}

func newTable(rows []*weirpb.SpendRow) (t Table) {
	var charged, refunded []int64
	for _, r := range rows {
		charged, refunded = append(charged, r.GetChargedMicros()), append(refunded, r.GetRefundedMicros())
		t.Accounts = t.Accounts || r.GetAccount() != rows[0].GetAccount()
		t.Currencies = t.Currencies || r.GetCurrency() != rows[0].GetCurrency()
		t.Refunds, t.Duplications = t.Refunds || r.GetRefundedMicros() != 0, t.Duplications || r.GetDuplicates() != 0
	}
	chargedPlaces, refundedPlaces := places(charged...), places(refunded...)
	for i, r := range rows {
		t.Rows = append(t.Rows, TableRow{
			Rank: i + 1, Account: r.GetAccount(), Campaign: r.GetCampaign(), Day: r.GetDay(), Currency: r.GetCurrency(),
			Charged: money(r.GetChargedMicros(), chargedPlaces), Refunded: money(r.GetRefundedMicros(), refundedPlaces),
			Impressions: count(r.GetImpressions()), Clicks: count(r.GetClicks()), Events: count(r.GetEvents()),
			Duplicates: count(r.GetDuplicates()),
			Path:       SpendPath(r.GetAccount(), r.GetCampaign()),
		})
	}
	return t
}

// Single returns the account, or the currency, that all rows have; empty if they differ.
func (t Table) Single() (s struct{ Account, Currency string }) {
	if len(t.Rows) == 0 {
		return s
	}
	if !t.Accounts {
		s.Account = t.Rows[0].Account
	}
	if !t.Currencies {
		s.Currency = t.Rows[0].Currency
	}
	return s
}
