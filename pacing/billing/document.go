package billing

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
)

// Document is a BilledSpend, as JSON and as a row of a table. Amounts are decimal numbers.
type Document struct {
	BudgetDay string `json:"budget_day"` // YYYY-MM-DD
	Account   string `json:"account"`
	// Campaign is the campaign; empty: the sums of the account.
	Campaign string `json:"campaign,omitempty"`
	Spent    string `json:"spent"` // charged less refunded
	Billed   string `json:"billed"`
	// Overdelivered is the part of Spent that is not billed.
	Overdelivered string `json:"overdelivered"`
	// Budget is what the campaign's own budget allowed on the day; empty: it has none.
	Budget   string `json:"budget,omitempty"`
	Currency string `json:"currency"`
	// Shared is the shared budget for which less is billed; empty: none.
	Shared string `json:"shared,omitempty"`
	// Records is the number of the records of campaigns, in the record of an account.
	Records int32 `json:"records,omitempty" table:"-"`
	// Gone is set in the record of an account if the spend of the day was no longer known, so that
	// nothing is billed.
	Gone    bool   `json:"gone,omitempty" table:"wide"`
	Version uint64 `json:"version" table:"wide"` // of the budgets, the last one of the day
	Dataset string `json:"dataset" table:"wide"` // datacentre that has counted the spend
	Writer  string `json:"writer" table:"wide"`  // datacentre that has billed the day
	At      string `json:"at" table:"wide"`      // RFC 3339: when it was billed
}

// Decode returns the document of a record of spend.billed.
func Decode(value []byte) (*Document, error) {
	m := &eventspb.BilledSpend{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("not a BilledSpend: %w", err)
	}
	day := events.Day(m.GetBudgetDay())
	if m.GetAccount() == "" || !day.Valid() || m.GetCurrency() == "" {
		return nil, fmt.Errorf("not a BilledSpend: account %q, budget day %d, currency %q", m.GetAccount(), day, m.GetCurrency())
	}
	d := &Document{
		BudgetDay: day.String(), Account: m.GetAccount(), Campaign: m.GetCampaign(), Spent: budget.FormatAmount(m.GetSpentMicros()),
		Billed: budget.FormatAmount(m.GetBilledMicros()), Currency: m.GetCurrency(), Shared: m.GetShared(),
		Records: m.GetRecords(), Gone: m.GetGone(),
		Overdelivered: budget.FormatAmount(budget.AddMicros(m.GetSpentMicros(), -m.GetBilledMicros())),
		Version:       m.GetVersion(), Dataset: m.GetDataset(), Writer: m.GetWriterDc(),
		At: time.UnixMilli(m.GetAtMs()).UTC().Format(time.RFC3339),
	}
	if m.BudgetMicros != nil {
		d.Budget = budget.FormatAmount(m.GetBudgetMicros())
	}
	return d, nil
}
