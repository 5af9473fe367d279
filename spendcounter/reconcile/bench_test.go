package reconcile

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/ingest"
)

// BenchmarkFile sums a CSV file of 100,000 events of 1,000 campaigns, as `weir spend reconcile`
// does.
func BenchmarkFile(b *testing.B) {
	const rows = 100_000
	var text strings.Builder
	text.WriteString("id,cid,ts,cost\n")
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := range rows {
		fmt.Fprintf(&text, "event-%012d,campaign-%d,%s,0.%04d\n", i, i%1000, at.Add(time.Duration(i)*time.Millisecond).Format(time.RFC3339), i%1000)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		r, err := ingest.NewReader(strings.NewReader(text.String()), ingest.Options{
			Format: ingest.FormatCSV, Account: "acme", Currency: "USD", PriceUnit: "major", Now: at.AddDate(0, 1, 0),
			Map: map[string]string{"event_id": "id", "campaign": "cid", "time": "ts", "price": "cost"},
		})
		if err != nil {
			b.Fatal(err)
		}
		end := r.ReadAhead()
		var s Statement
		for {
			row, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || row.Err != nil {
				b.Fatal(err, row.Err)
			}
			for _, e := range row.Events {
				d := CampaignDay{Account: e.Account, Campaign: e.Campaign, Day: events.Day(e.BudgetDay), Currency: e.Currency}
				if err := s.Add(d, e.PriceMicros); err != nil {
					b.Fatal(err)
				}
			}
		}
		end()
		if days, _ := s.Totals(); days != 1000 {
			b.Fatalf("%d campaign days", days)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
