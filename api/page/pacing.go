package page

import (
	"strconv"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/pacing/budget"
)

// maxPaced is the number of campaigns, arms and shared budgets on a page.
const maxPaced = 200

// Pacing is how a campaign, or all of an account, take part in auctions.
type Pacing struct {
	// Account is the pacing of one campaign of an account, or of all. Nil: Err is why.
	Account *weirpb.AccountPacing
	Err     string
	One     bool // of one campaign, which is explained in sentences
}

// PacedRow is a campaign, an arm or a shared budget.
type PacedRow struct {
	Kind, Name        string
	Path              string // of its page; empty: it has none
	Auctions, Bids    string
	Spent, InFlight   string // InFlight is empty if nothing has reported ads of it
	Plan, Budget      string // empty: it has no budget of its own
	Part, Whole       string // Spent and Budget as numbers, for a meter
	Reason, LimitedBy string
}

// PacedTable is a table of PacedRows. Columns are there only if a row has something for them.
type PacedTable struct {
	Rows                      []PacedRow
	Cut                       int // number of rows that it leaves out
	Bids, InFlight, LimitedBy bool
}

// Explained returns the sentences about each campaign, arm and shared budget.
func (p *Pacing) Explained() (list []string) {
	for _, r := range p.rows() {
		list = append(list, r.Explanation)
	}
	return list
}

func (p *Pacing) rows() []render.PacingRow {
	if p.Account == nil {
		return nil
	}
	return render.PacingRows([]*weirpb.AccountPacing{p.Account})
}

// Table returns the table of the campaigns, arms and shared budgets.
func (p *Pacing) Table() (t PacedTable) {
	all := p.rows()
	shown := all[:min(len(all), maxPaced)]
	t.Cut = len(all) - len(shown)
	for _, r := range shown {
		row := newPacedRow(r)
		t.Bids, t.InFlight, t.LimitedBy = t.Bids || r.Multiplier < 1, t.InFlight || row.InFlight != "", t.LimitedBy || row.LimitedBy != ""
		t.Rows = append(t.Rows, row)
	}
	return t
}

func newPacedRow(r render.PacingRow) PacedRow {
	row := PacedRow{
		Kind: "campaign", Name: r.Campaign, Path: SpendPath(r.Account, r.Campaign), Auctions: render.AuctionsText(r),
		Bids: render.PercentText(r.Multiplier), Spent: budget.FormatAmount(r.SpentMicros), Reason: r.Reason, LimitedBy: r.LimitedBy,
	}
	switch {
	case r.Arm != "":
		row.Kind, row.Name, row.Path = "arm", r.Arm, ""
	case r.SharedBudget != "":
		row.Kind, row.Name, row.Path = "shared budget", r.SharedBudget, ""
	}
	if r.BudgetMicros != nil {
		row.Plan, row.Budget = budget.FormatAmount(render.RoundCents(*r.PlannedMicros)), budget.FormatAmount(*r.BudgetMicros)
		row.Part, row.Whole = number(r.SpentMicros), number(*r.BudgetMicros)
	}
	if r.InFlight != nil {
		row.InFlight = budget.FormatAmount(render.RoundCents(*r.InFlight))
	}
	return row
}

func number(micros int64) string { return strconv.FormatInt(max(0, micros), 10) }

// AsOf returns of when the parameters are, and from what they were computed.
func (p *Pacing) AsOf() string { return render.PacingAsOf(p.Account) }

// Warnings returns what is wrong with the pacing of the account.
func (p *Pacing) Warnings() []string { return render.PacingWarnings(p.Account) }
