package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/weirhq/weir/api/weirpb"
)

// spend is the JSON form of a GetSpendResponse.
type spend struct {
	Campaign       string            `json:"campaign"`
	Account        string            `json:"account"`
	Day            string            `json:"day"`
	Currency       string            `json:"currency"`
	ChargedMicros  int64             `json:"charged_micros"`
	RefundedMicros int64             `json:"refunded_micros"`
	Impressions    uint64            `json:"impressions"`
	Clicks         uint64            `json:"clicks"`
	Events         uint64            `json:"events"`
	Duplicates     uint64            `json:"duplicates"`
	AsOf           *asOf             `json:"as_of"`
	Days           []spendDay        `json:"days"`
	ByDC           []spendDC         `json:"by_dc"`
	EventsByType   map[string]uint64 `json:"events_by_type"`
	Choice         *choice           `json:"choice,omitempty"`
}

// spendDay is one budget day.
type spendDay struct {
	Day            string `json:"day"`
	ChargedMicros  int64  `json:"charged_micros"`
	RefundedMicros int64  `json:"refunded_micros"`
	Events         uint64 `json:"events"`
	Duplicates     uint64 `json:"duplicates"`
	OverRefunded   bool   `json:"over_refunded,omitempty"` // the refunds exceed the charges
}

// spendDC is one serving datacentre.
type spendDC struct {
	ServingDC      string `json:"serving_dc"`
	ChargedMicros  int64  `json:"charged_micros"`
	RefundedMicros int64  `json:"refunded_micros"`
	Events         uint64 `json:"events"`
}

// SpendJSON formats res as one JSON object without a newline at the end. as_of is null if the
// answer has none.
func SpendJSON(res *weirpb.GetSpendResponse) ([]byte, error) {
	out := spend{
		Campaign:       res.GetCampaign(),
		Account:        res.GetAccount(),
		Day:            res.GetDay(),
		Currency:       res.GetCurrency(),
		ChargedMicros:  res.GetChargedMicros(),
		RefundedMicros: res.GetRefundedMicros(),
		Impressions:    res.GetImpressions(),
		Clicks:         res.GetClicks(),
		Events:         res.GetEvents(),
		Duplicates:     res.GetDuplicates(),
		Days:           []spendDay{},
		ByDC:           []spendDC{},
		EventsByType:   orEmpty(res.GetEventsByType()),
	}
	out.AsOf = asOfOf(res.GetAsOf())
	if c := res.GetChoice(); c != nil {
		one := choiceOf(c)
		out.Choice = &one
	}
	for _, d := range res.GetDays() {
		out.Days = append(out.Days, spendDay{
			Day: d.GetDay(), ChargedMicros: d.GetChargedMicros(), RefundedMicros: d.GetRefundedMicros(),
			Events: d.GetEvents(), Duplicates: d.GetDuplicates(), OverRefunded: d.GetOverRefunded(),
		})
	}
	for _, d := range res.GetByDc() {
		out.ByDC = append(out.ByDC, spendDC{
			ServingDC: d.GetServingDc(), ChargedMicros: d.GetChargedMicros(),
			RefundedMicros: d.GetRefundedMicros(), Events: d.GetEvents(),
		})
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode spend of campaign %q as JSON: %w", out.Campaign, err)
	}
	return b, nil
}

// orEmpty makes {} of a nil map in JSON, not null: the map is known to be empty.
func orEmpty[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return m
}

// SpendTable formats res for a terminal: the totals, a line per day, a line per datacentre if there
// are several, and how much of the inputs is included. It ends with a newline.
func SpendTable(res *weirpb.GetSpendResponse, at AsOfFormat) string {
	head := newTable()
	head.AppendRow(table.Row{"campaign", plain(res.GetCampaign())})
	head.AppendRow(table.Row{"account", plain(res.GetAccount())})
	head.AppendRow(table.Row{"day", plain(res.GetDay())})
	head.AppendRow(table.Row{"charged", Money(res.GetChargedMicros()) + " " + plain(res.GetCurrency())})
	head.AppendRow(table.Row{"refunded", Money(res.GetRefundedMicros()) + " " + plain(res.GetCurrency())})
	if over := overRefundedDays(res); over != "" {
		head.AppendRow(table.Row{"over-refunded", over})
	}
	head.AppendRow(table.Row{"events", res.GetEvents()})
	for _, name := range slices.Sorted(maps.Keys(res.GetEventsByType())) {
		head.AppendRow(table.Row{"  " + plain(name), res.GetEventsByType()[name]})
	}
	head.AppendRow(table.Row{"duplicates", fmt.Sprintf("%d (not charged)", res.GetDuplicates())})
	if c := res.GetChoice(); c != nil {
		head.AppendRow(table.Row{"from", choiceText(c)})
	} else {
		head.AppendRow(table.Row{"as of", at.one(res.GetAsOf())})
	}
	out := head.Render() + "\n"

	if len(res.GetDays()) > 1 {
		t := moneyTable("day", "duplicates")
		for _, d := range res.GetDays() {
			t.AppendRow(
				table.Row{plain(d.GetDay()), Money(d.GetChargedMicros()), Money(d.GetRefundedMicros()), d.GetEvents(), d.GetDuplicates()})
		}
		out += "\n" + t.Render() + "\n"
	}
	if len(res.GetByDc()) > 1 {
		t := moneyTable("datacentre")
		for _, d := range res.GetByDc() {
			t.AppendRow(table.Row{plain(d.GetServingDc()), Money(d.GetChargedMicros()), Money(d.GetRefundedMicros()), d.GetEvents()})
		}
		out += "\n" + t.Render() + "\n"
	}
	return out
}

// overRefundedDays lists the first days whose refunds exceed their charges, "" without such days.
func overRefundedDays(res *weirpb.GetSpendResponse) string {
	const most = 5
	var days []string
	for _, d := range res.GetDays() {
		if d.GetOverRefunded() {
			days = append(days, plain(d.GetDay()))
		}
	}
	if len(days) == 0 {
		return ""
	}
	more := ""
	if n := len(days) - most; n > 0 {
		days, more = days[:most], fmt.Sprintf(" and %d more days", n)
	}
	return "refunds exceed charges on " + strings.Join(days, ", ") + more
}

// moneyTable returns a table of spend. more are further columns of counts.
func moneyTable(first string, more ...string) table.Writer {
	t, head := newTable(), table.Row{first, "charged", "refunded", "events"}
	for _, name := range more {
		head = append(head, name)
	}
	t.AppendHeader(head)
	right(t, 2, 3, 4, 5)
	return t
}

// newTable returns a table without frames, which awk can read.
func newTable() table.Writer {
	t := table.NewWriter()
	st := table.StyleDefault
	st.Options = table.OptionsNoBordersAndSeparators
	st.Box.PaddingLeft, st.Box.PaddingRight = "", "  "
	st.Format.Header = text.FormatDefault
	t.SetStyle(st)
	t.SuppressTrailingSpaces()
	return t
}

// right aligns columns to the right. Columns are counted from 1.
func right(t table.Writer, columns ...int) {
	var cfg []table.ColumnConfig
	for _, n := range columns {
		cfg = append(cfg, table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(cfg)
}
