package render

import (
	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirhq/weir/api/weirpb"
)

// Adjustment is the form of an adjustment for programs.
type Adjustment struct {
	Account      string `json:"account"`
	ReferenceID  string `json:"reference_id"`
	Campaign     string `json:"campaign"`
	Day          string `json:"day"`
	Currency     string `json:"currency"`
	Micros       int64  `json:"micros"`
	ServingDC    string `json:"serving_dc"`
	Reason       string `json:"reason"`
	IngestMs     int64  `json:"ingest_ms"`
	Duplicates   uint64 `json:"duplicates"`
	Conflicts    uint64 `json:"conflicts"`
	OverRefunded bool   `json:"over_refunded"`
}

// Adjustments returns the rows of a list.
func Adjustments(res *weirpb.ListAdjustmentsResponse) []Adjustment {
	rows := []Adjustment{}
	for _, a := range res.GetAdjustments() {
		rows = append(rows, Adjustment{
			a.GetAccount(), a.GetReferenceId(), a.GetCampaign(), a.GetDay(), a.GetCurrency(), a.GetMicros(), a.GetServingDc(),
			a.GetReason(), a.GetIngestMs(), a.GetDuplicates(), a.GetConflicts(), a.GetOverRefunded(),
		})
	}
	return rows
}

// AdjustmentsJSON formats res as one JSON object.
func AdjustmentsJSON(res *weirpb.ListAdjustmentsResponse) ([]byte, error) {
	return marshal("a list of adjustments", struct {
		Rows          []Adjustment `json:"rows"`
		AsOf          *asOf        `json:"as_of"`
		NextPageToken string       `json:"next_page_token"`
	}{Adjustments(res), asOfOf(res.GetAsOf()), res.GetNextPageToken()})
}

// AdjustmentsTable formats res for a terminal. The last column has what an operator looks at.
func AdjustmentsTable(res *weirpb.ListAdjustmentsResponse, at AsOfFormat) string {
	t := newTable()
	t.AppendHeader(
		table.Row{
			"reference", "campaign", "day", "currency", "amount", "datacentre", "reason", "applied", "duplicates", "conflicts", "flag",
		})
	right(t, 5, 9, 10)
	for _, a := range res.GetAdjustments() {
		flag := ""
		if a.GetOverRefunded() {
			flag = "over-refunded"
		}
		t.AppendRow(table.Row{
			plain(a.GetReferenceId()), plain(a.GetCampaign()), plain(a.GetDay()), plain(a.GetCurrency()), Money(a.GetMicros()),
			plain(a.GetServingDc()), plain(a.GetReason()), Time(a.GetIngestMs()), a.GetDuplicates(), a.GetConflicts(), flag,
		})
	}
	return t.Render() + "\n\nas of " + at.one(res.GetAsOf()) + "\n"
}
