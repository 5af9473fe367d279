package spend

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/ingest"
)

// printSummary prints the result of a run: for people with money in decimals, a line for each
// currency, and for programs in micros by currency.
func printSummary(a *cli.App, sum *ingest.Summary) error {
	switch {
	case a.Format == cli.FormatJSON: // one line, because scripts read the last line
		return a.Print(func(w io.Writer) error { return json.NewEncoder(w).Encode(sum) })
	case a.Structured():
		return cli.PrintOne(a, *sum)
	}
	return a.Print(func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
		for _, n := range []struct {
			name  string
			count int64
		}{
			{"read", sum.Read},
			{"produced", sum.Produced},
			{"rejected", sum.Rejected},
			{"repeated in file", sum.Repeated},
			{"impressions", sum.Impressions},
			{"clicks", sum.Clicks},
		} {
			fmt.Fprintf(t, "%s:\t%d\n", n.name, n.count)
		}
		for _, currency := range slices.Sorted(maps.Keys(sum.Micros)) {
			fmt.Fprintf(t, "price:\t%s\n", amount(sum.Micros[currency], currency))
		}
		fmt.Fprintf(t, "duration:\t%.1f s, %.0f rows/s\n", sum.Seconds, float64(sum.Read)/max(sum.Seconds, 1e-6))
		if sum.RejectsFile != "" {
			fmt.Fprintf(t, "rejects file:\t%q\n", sum.RejectsFile)
		}
		return t.Flush()
	})
}

// showFirst shows what the first row means, so that a wrong price unit or time zone is seen.
func (i ingestion) showFirst(row *ingest.Row) {
	zone, err := time.LoadLocation(i.opt.TZ)
	if err != nil {
		zone = time.UTC
	}
	for _, e := range row.Events {
		at := time.UnixMilli(e.EventMs).In(zone).Format("2006-01-02 15:04:05 MST")
		i.a.Notef("line %d: %s %q, %s, budget day %d, %s", row.Line, events.EventTypeName(e.Type), e.Campaign, at, e.BudgetDay,
			amount(e.PriceMicros, e.Currency))
	}
}

// amount returns money with two to six decimals: "1.50 USD".
func amount(micros int64, currency string) string {
	const most = 4 // zeros that may be left out
	text := events.FormatMicros(micros, 0)
	for n := 0; n < most && strings.HasSuffix(text, "0"); n++ {
		text = text[:len(text)-1]
	}
	return text + " " + currency
}

// ingestProgress draws a progress bar from the first report that has produced events. Without a
// terminal it draws nothing.
func ingestProgress(a *cli.App, total int64, verb, noun string) (report func(ingest.Status), done func()) {
	if !a.IsTerminal() {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(a.Stderr), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription(verb), progressbar.OptionThrottle(100_000_000), progressbar.OptionClearOnFinish(),
		progressbar.OptionEnableColorCodes(a.Color()))
	return func(s ingest.Status) {
		if s.Read == 0 { // the first row is shown before
			return
		}
		bar.Describe(fmt.Sprintf("%s %d %s", verb, s.Produced, noun))
		_ = bar.Set64(s.BytesRead)
	}, func() { _ = bar.Finish() }
}
