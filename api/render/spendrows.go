package render

import (
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirhq/weir/api/weirpb"
)

// SpendRow is the form of a row of a list of spend for programs.
type SpendRow struct {
	Account        string `json:"account"`
	Campaign       string `json:"campaign"`
	Day            string `json:"day"`
	Currency       string `json:"currency"`
	ChargedMicros  int64  `json:"charged_micros"`
	RefundedMicros int64  `json:"refunded_micros"`
	Impressions    uint64 `json:"impressions"`
	Clicks         uint64 `json:"clicks"`
	Events         uint64 `json:"events"`
	Duplicates     uint64 `json:"duplicates"`
}

// HourRow is the form of a row of a list of spend by hour.
type HourRow struct {
	Account string `json:"account"`
	Hour    string `json:"hour"` // 2013-10-19T22:00Z, or other
	SumRow
}

// LineItemRow is the form of a row of a list of spend by line item.
type LineItemRow struct {
	Account  string `json:"account"`
	LineItem string `json:"line_item"` // empty: what has no row of its own
	SumRow
}

// ArmRow is the form of a row of a list of spend by arm.
type ArmRow struct {
	Account string `json:"account"`
	Arm     string `json:"arm"` // empty: what has no row of its own
	SumRow
}

// SumRow is the part of a row that all sums have that are less than campaign days.
type SumRow struct {
	Currency       string `json:"currency"`
	ChargedMicros  int64  `json:"charged_micros"`
	RefundedMicros int64  `json:"refunded_micros"`
	Events         uint64 `json:"events"`
	Duplicates     uint64 `json:"duplicates"`
}

// TopRow is a SpendRow with its rank among the rows of its currency.
type TopRow struct {
	Rank int `json:"rank"`
	SpendRow
}

func spendRowOf(r *weirpb.SpendRow) SpendRow {
	return SpendRow{
		r.GetAccount(), r.GetCampaign(), r.GetDay(), r.GetCurrency(), r.GetChargedMicros(), r.GetRefundedMicros(),
		r.GetImpressions(), r.GetClicks(), r.GetEvents(), r.GetDuplicates(),
	}
}

// SpendRows returns the rows of a list.
func SpendRows(res *weirpb.ListSpendResponse) []SpendRow {
	rows := []SpendRow{}
	for _, r := range res.GetRows() {
		rows = append(rows, spendRowOf(r))
	}
	return rows
}

func sumRowOf(r *weirpb.SpendRow) SumRow {
	return SumRow{r.GetCurrency(), r.GetChargedMicros(), r.GetRefundedMicros(), r.GetEvents(), r.GetDuplicates()}
}

// HourRows returns the rows of a list by hour.
func HourRows(res *weirpb.ListSpendResponse) []HourRow {
	rows := []HourRow{}
	for _, r := range res.GetRows() {
		rows = append(rows, HourRow{r.GetAccount(), r.GetHour(), sumRowOf(r)})
	}
	return rows
}

// LineItemRows returns the rows of a list by line item.
func LineItemRows(res *weirpb.ListSpendResponse) []LineItemRow {
	rows := []LineItemRow{}
	for _, r := range res.GetRows() {
		rows = append(rows, LineItemRow{r.GetAccount(), r.GetLineItem(), sumRowOf(r)})
	}
	return rows
}

// ArmRows returns the rows of a list by arm.
func ArmRows(res *weirpb.ListSpendResponse) []ArmRow {
	rows := []ArmRow{}
	for _, r := range res.GetRows() {
		rows = append(rows, ArmRow{r.GetAccount(), r.GetArm(), sumRowOf(r)})
	}
	return rows
}

// TopRows returns the rows of a ranking.
func TopRows(res *weirpb.TopSpendResponse) []TopRow {
	rows, currency := []TopRow{}, ""
	for _, r := range res.GetRows() {
		rank := 1
		if n := len(rows); n > 0 && r.GetCurrency() == currency {
			rank = rows[n-1].Rank + 1
		}
		currency = r.GetCurrency()
		rows = append(rows, TopRow{rank, spendRowOf(r)})
	}
	return rows
}

// SpendListJSON formats res as one JSON object.
func SpendListJSON(res *weirpb.ListSpendResponse) ([]byte, error) {
	return listJSON(SpendRows(res), res)
}

// SpendHoursJSON formats res, a list by hour, as one JSON object.
func SpendHoursJSON(res *weirpb.ListSpendResponse) ([]byte, error) {
	return listJSON(HourRows(res), res)
}

// LineItemsJSON formats res, a list by line item, as one JSON object.
func LineItemsJSON(res *weirpb.ListSpendResponse) ([]byte, error) {
	return listJSON(LineItemRows(res), res)
}

// ArmsJSON formats res, a list by arm, as one JSON object.
func ArmsJSON(res *weirpb.ListSpendResponse) ([]byte, error) {
	return listJSON(ArmRows(res), res)
}

func listJSON[Row any](rows []Row, res *weirpb.ListSpendResponse) ([]byte, error) {
	return marshal("a list of spend", struct {
		Rows          []Row  `json:"rows"`
		AsOf          *asOf  `json:"as_of"`
		NextPageToken string `json:"next_page_token"`
	}{rows, asOfOf(res.GetAsOf()), res.GetNextPageToken()})
}

// topTotal is the sums over all campaigns of a currency.
type topTotal struct {
	Currency       string `json:"currency"`
	ChargedMicros  int64  `json:"charged_micros"`
	RefundedMicros int64  `json:"refunded_micros"`
	Events         uint64 `json:"events"`
}

// SpendTopJSON formats res as one JSON object.
func SpendTopJSON(res *weirpb.TopSpendResponse) ([]byte, error) {
	at := []*asOf{}
	for _, a := range res.GetAsOf() {
		at = append(at, asOfOf(a))
	}
	totals := []topTotal{}
	for _, t := range res.GetTotals() {
		totals = append(totals, topTotal{t.GetCurrency(), t.GetChargedMicros(), t.GetRefundedMicros(), t.GetEvents()})
	}
	return marshal("a ranking of spend", struct {
		Rows   []TopRow   `json:"rows"`
		Totals []topTotal `json:"totals"`
		AsOf   []*asOf    `json:"as_of"`
	}{TopRows(res), totals, at})
}

// SpendListTable formats res for a terminal, without the columns that are sums.
func SpendListTable(res *weirpb.ListSpendResponse, at AsOfFormat) string {
	rows := res.GetRows()
	has := func(get func(*weirpb.SpendRow) string) bool { return len(rows) > 0 && get(rows[0]) != "" }
	campaign, day := has((*weirpb.SpendRow).GetCampaign), has((*weirpb.SpendRow).GetDay)
	line := func(name, date, account string, rest ...any) (row table.Row) {
		if campaign {
			row = append(row, name)
		}
		if day {
			row = append(row, date)
		}
		if !campaign && !day {
			row = append(row, account)
		}
		return append(row, rest...)
	}
	t := newTable()
	head := line("campaign", "day", "account", "currency", "charged", "refunded", "events", "duplicates")
	t.AppendHeader(head)
	right(t, len(head)-3, len(head)-2, len(head)-1, len(head))
	for _, r := range rows {
		t.AppendRow(line(plain(r.GetCampaign()), plain(r.GetDay()), plain(r.GetAccount()), plain(r.GetCurrency()),
			Money(r.GetChargedMicros()), Money(r.GetRefundedMicros()), r.GetEvents(), r.GetDuplicates()))
	}
	return t.Render() + "\n\nas of " + at.one(res.GetAsOf()) + "\n"
}

// SpendHoursTable formats res, a list by hour, for a terminal.
func SpendHoursTable(res *weirpb.ListSpendResponse, at AsOfFormat) string {
	return sumTable("hour", (*weirpb.SpendRow).GetHour, res, at)
}

// LineItemsTable formats res, a list by line item, for a terminal.
func LineItemsTable(res *weirpb.ListSpendResponse, at AsOfFormat) string {
	return sumTable("line item", (*weirpb.SpendRow).GetLineItem, res, at)
}

// ArmsTable formats res, a list by arm, for a terminal.
func ArmsTable(res *weirpb.ListSpendResponse, at AsOfFormat) string {
	return sumTable("arm", (*weirpb.SpendRow).GetArm, res, at)
}

// sumTable formats sums, which have names of this kind.
func sumTable(kind string, name func(*weirpb.SpendRow) string, res *weirpb.ListSpendResponse, at AsOfFormat) string {
	t := newTable()
	t.AppendHeader(table.Row{kind, "currency", "charged", "refunded", "events", "duplicates"})
	right(t, 3, 4, 5, 6)
	for _, r := range res.GetRows() {
		t.AppendRow(table.Row{
			plain(name(r)), plain(r.GetCurrency()), Money(r.GetChargedMicros()), Money(r.GetRefundedMicros()), r.GetEvents(),
			r.GetDuplicates(),
		})
	}
	return t.Render() + "\n\nas of " + at.one(res.GetAsOf()) + "\n"
}

// SpendTopTable formats res for a terminal.
func SpendTopTable(res *weirpb.TopSpendResponse, at AsOfFormat) string {
	t := newTable()
	t.AppendHeader(table.Row{"rank", "campaign", "account", "currency", "charged", "refunded", "events"})
	right(t, 1, 5, 6, 7)
	for _, r := range TopRows(res) {
		t.AppendRow(
			table.Row{
				r.Rank, plain(r.Campaign), plain(r.Account), plain(r.Currency), Money(r.ChargedMicros), Money(r.RefundedMicros), r.Events,
			})
	}
	for _, of := range res.GetTotals() {
		t.AppendRow(
			table.Row{"all", "", "", plain(of.GetCurrency()), Money(of.GetChargedMicros()), Money(of.GetRefundedMicros()), of.GetEvents()})
	}
	return t.Render() + "\n\nas of " + at.all(res.GetAsOf()) + "\n"
}
