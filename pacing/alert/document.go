package alert

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
)

// Document is an alert, as JSON and as a row of a table.
type Document struct {
	// ID is the same for each repetition of the alert.
	ID      string `json:"id" table:"-"`
	At      string `json:"at"` // RFC 3339
	Account string `json:"account"`
	// Campaign is the campaign; empty: the alert is of a shared budget.
	Campaign string `json:"campaign,omitempty"`
	// Shared is the shared budget; empty: the alert is of a campaign.
	Shared string `json:"shared,omitempty"`
	// Percent is the part of the budget that is spent: 50, 80 or 100; 0: the budget is expected to
	// run out early.
	Percent   int32  `json:"percent"`
	Spent     string `json:"spent"`  // on the day, a decimal number, which may be above Budget
	Budget    string `json:"budget"` // of the day
	Currency  string `json:"currency"`
	BudgetDay string `json:"budget_day"` // YYYY-MM-DD
	// RunsOut is when the budget is spent if the spend continues at its mean rate; empty: it is
	// spent, or lasts for the day.
	RunsOut string `json:"runs_out,omitempty"`
	Text    string `json:"text" table:"wide"` // a sentence
}

// Decode returns the document of a record of pacing.alerts.
func Decode(value []byte) (*Document, error) {
	m := &eventspb.BudgetAlert{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("not a BudgetAlert: %w", err)
	}
	if m.GetAccount() == "" || (m.GetCampaign() == "") == (m.GetShared() == "") || m.GetPercent() < 0 {
		return nil, fmt.Errorf("not a BudgetAlert: account %q, campaign %q, shared budget %q, %d percent", m.GetAccount(), m.GetCampaign(),
			m.GetShared(), m.GetPercent())
	}
	return New(m), nil
}

// New returns the document of an alert.
func New(m *eventspb.BudgetAlert) *Document {
	d := &Document{
		Account: m.GetAccount(), Campaign: m.GetCampaign(), Shared: m.GetShared(), Percent: m.GetPercent(), Currency: m.GetCurrency(),
		BudgetDay: events.Day(m.GetBudgetDay()).String(), Budget: budget.FormatAmount(m.GetBudgetMicros()),
		Spent: budget.FormatAmount(m.GetSpentMicros()),
		At:    instant(m.GetAtMs()),
	}
	kind, name, what := "campaign", d.Campaign, d.Campaign
	if d.Shared != "" {
		kind, name, what = "shared", d.Shared, "the shared budget "+d.Shared
	}
	d.ID = fmt.Sprintf("%s/%s/%s/%s/%d/%d", escape(d.Account), kind, escape(name), d.BudgetDay, d.Percent, m.GetVersion())
	d.Text = fmt.Sprintf("%s of %s has spent %s of %s %s on %s", what, d.Account, d.Spent, d.Budget, d.Currency, d.BudgetDay)
	if d.Percent > 0 {
		d.Text += fmt.Sprintf(" (%d %%)", d.Percent)
	}
	if m.GetRunsOutMs() > 0 {
		d.RunsOut = instant(m.GetRunsOutMs())
		d.Text += ", and at this rate it spends the rest by " + time.UnixMilli(m.GetRunsOutMs()).UTC().Format("15:04 UTC")
	}
	end := "."
	if early := time.Duration(m.GetDayEndMs()-m.GetRunsOutMs()) * time.Millisecond; d.Percent == 0 {
		end = fmt.Sprintf(", %s before the day ends: do the ad servers follow its parameters?", hours(early))
	}
	d.Text += end
	return d
}

// escape returns a part of an ID: printable ASCII without slashes.
func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c > ' ' && c < 0x7f && c != '/' && c != '%' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// hours returns a time of several hours, such as 6 h 5 min.
func hours(t time.Duration) string {
	minutes := int64(t.Round(time.Minute).Minutes())
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

func instant(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
