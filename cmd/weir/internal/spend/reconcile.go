package spend

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	connectrpc "connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/spendcounter/reconcile"
)

// Bounds of the comparison event by event.
const (
	maxMatched    = 1_000_000 // events that are kept in one pass
	maxParts      = 64        // passes
	maxDifferDays = 10_000    // campaign days
)

// dayDifference is a campaign day of which a file has other charges than the counter.
type dayDifference struct {
	Account       string `json:"account"`
	Campaign      string `json:"campaign"`
	Day           string `json:"day"`
	Currency      string `json:"currency"`
	FileMicros    int64  `json:"file_micros"`
	CountedMicros int64  `json:"counted_micros"`
	Difference    int64  `json:"difference_micros"`
	FileEvents    uint64 `json:"file_events"`
	CountedEvents uint64 `json:"counted_events"`
}

// rowDifference is an event that explains a difference.
type rowDifference struct {
	Kind       reconcile.Kind `json:"kind"`
	Line       int            `json:"line,omitempty"` // of the file
	EventID    string         `json:"event_id"`
	Account    string         `json:"account"`
	Campaign   string         `json:"campaign"` // of the file, or of the log if the file does not have it; the same of day and currency
	Day        string         `json:"day"`
	Currency   string         `json:"currency"`
	FileMicros *int64         `json:"file_micros,omitempty"`
	LogMicros  *int64         `json:"log_micros,omitempty"`
	Log        string         `json:"log"` // TOPIC/PARTITION/OFFSET; empty: not there
}

// reconciliation is a run of `weir spend reconcile`.
type reconciliation struct {
	importRun
	opt          ingest.Options
	counts, rows bool
}

func newSpendReconcileCmd(a *cli.App) *cobra.Command {
	r := reconciliation{importRun: importRun{
		a: a, unit: "--price-unit", format: "--format or --map", help: "`weir spend reconcile --help` shows the flags",
	}}
	var d dialect
	c := &cobra.Command{
		Use:   "reconcile FILE|- --format " + ingest.FormatCSV + "|...",
		Short: "Compare a billing file with the charges, and name the rows that differ",
		Long: "Compare a billing file with the charges, before refunds, that the spend counter has counted. The\n" +
			"flags of the format are those of `weir ingest`. The sums of each campaign day in the file are\n" +
			"compared, and the campaign days that the accounts of the file have between its first and last day.\n\n" +
			"A row is a campaign day that differs. Its events are then looked up in the log, by account and event\n" +
			"id: the first difference is named with the line of the file and the offset, and --rows lists all.\n" +
			"An event is only_in_file, only_in_log, has another price, another campaign_day, or is twice in the\n" +
			"file. Campaign days from before the begin of the log, which retention has deleted, have only sums.\n\n" +
			"The sums of days before spend.retention are not kept, and cannot be compared. The command ends with\n" +
			"code 1 if anything differs.",
		Example: "  weir spend reconcile october.csv.zst --format csv --map event_id=id,campaign=cid,time=ts,price=cost \\\n" +
			"    --price-unit major --currency USD --account acme\n" +
			"  duckdb -c \"copy (from 'october.parquet') to '/dev/stdout' (format csv)\" | weir spend reconcile - --format csv ...",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.name = args[0]
			if err := d.parse(dialectTo{&r.opt.Map, &r.opt.Delimiter, &r.opt.Decimal, &r.limit}, ingest.Fields()); err != nil {
				return err
			}
			r.newReader = func(in io.Reader) (*ingest.Reader, error) { return ingest.NewReader(in, r.opt) }
			return r.run(cmd.Context())
		},
	}
	addFormat(c, &r.opt, &d)
	f := c.Flags()
	f.StringVar(&r.rejects, "rejects", "", rejectsHelp)
	d.addLimit(f, "compare nothing")
	f.BoolVar(&r.counts, "counts", false, "also compare the numbers of events: for a file with all events, those without a price included")
	f.BoolVar(&r.rows, "rows", false, "list the events that differ, in place of campaign days")
	return c
}

func (r *reconciliation) run(ctx context.Context) error {
	src, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	client, err := connect.APIClient(r.a)
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.GetCluster(ctx); err != nil { // before the file is read, which takes a while
		return err
	}
	r.opt.Now = time.Now()
	s, err := r.sum(ctx, src)
	if err != nil {
		return err
	}
	if err := count(ctx, client, s); err != nil {
		return err
	}
	list := s.Differences(r.counts)
	days, sums := s.Totals()
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		c, _ := events.ParseCurrency(currency)
		r.a.Notef("the file has %d events of %s", sums[currency].Events, events.FormatMicros(sums[currency].Micros, c))
	}
	r.a.Notef("the file has %d campaign days; of all compared ones, %d differ", days, len(list))
	if len(list) == 0 {
		return r.show(list, nil)
	}
	if err := r.noteClosed(ctx, client, list); err != nil {
		return err
	}
	found, err := r.match(ctx, src, list)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.a.Notef("the events of the campaign days that differ were not compared: %v", err)
	}
	if err := r.show(list, found); err != nil {
		return err
	}
	return &cli.Failure{
		Code: cli.ExitFailed, What: fmt.Sprintf("campaign days that differ: %d", len(list)), Why: r.explain(list, found),
		Do: "`weir spend reconcile --rows` lists the events that differ; `weir dlq list` has events that were rejected",
	}
}

// count adds what the counter has of the accounts and days of a statement. An account without spend
// on these days has nothing.
func count(ctx context.Context, client *api.Client, s *reconcile.Statement) error {
	first, last := s.Days()
	for _, account := range s.Accounts() {
		req := &weirpb.ListSpendRequest{Account: account, From: first.String(), To: last.String(), Limit: api.MaxPageKeys}
		for {
			page, err := client.ListSpend(ctx, req)
			if connectrpc.CodeOf(err) == connectrpc.CodeNotFound {
				break
			}
			if err != nil {
				return err
			}
			for _, row := range page.GetRows() {
				day, err := events.ParseDay(row.GetDay())
				if err != nil {
					return err
				}
				s.Count(reconcile.CampaignDay{Account: account, Campaign: row.GetCampaign(), Day: day, Currency: row.GetCurrency()},
					reconcile.Sum{Events: row.GetEvents(), Micros: row.GetChargedMicros()})
			}
			if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
				break
			}
		}
	}
	return nil
}

// noteClosed notes the accounts with closed days, of which a campaign day seems to have no charges.
func (r *reconciliation) noteClosed(ctx context.Context, client *api.Client, list []reconcile.Difference) error {
	asked := map[string]bool{}
	for _, d := range list {
		if d.Counted != (reconcile.Sum{}) || asked[d.Account] {
			continue
		}
		asked[d.Account] = true
		// The sum of the closed days is the first row.
		days, err := client.ListSpend(ctx, &weirpb.ListSpendRequest{Account: d.Account, By: "day", Limit: 1})
		switch {
		case connectrpc.CodeOf(err) == connectrpc.CodeNotFound:
			r.a.Notef("account %s has no spend: check the id (--account, or the column of --map account=...)", d.Account)
		case err != nil:
			return err
		case len(days.GetRows()) > 0 && days.GetRows()[0].GetDay() == api.ClosedDays:
			r.a.Notef("account %s has closed days: the charges of a day before spend.retention are not kept by campaign day, so that it "+
				"seems to have none", d.Account)
		}
	}
	return nil
}

// explain describes the first difference.
func (r *reconciliation) explain(list []reconcile.Difference, found []reconcile.Finding) string {
	d := list[0]
	c, _ := events.ParseCurrency(d.Currency)
	text := fmt.Sprintf("%v has %s in the file, and %s counted", d.CampaignDay, events.FormatMicros(d.File.Micros, c),
		events.FormatMicros(d.Counted.Micros, c))
	if len(found) == 0 {
		return text
	}
	if text = describeFinding(&found[0]); len(found) > 1 {
		text += fmt.Sprintf(", and %d further events differ", len(found)-1)
	}
	return text
}

// describeFinding returns a finding in a sentence.
func describeFinding(f *reconcile.Finding) string {
	amount := func(e *reconcile.Event) string {
		c, _ := events.ParseCurrency(e.Currency)
		return events.FormatMicros(e.Micros, c)
	}
	at := fmt.Sprintf("%s/%d, offset %d", f.Place.Topic, f.Place.Partition, f.Place.Offset)
	line := fmt.Sprintf("line %d: event %s of campaign %s", f.Line, f.ID, f.File.Campaign)
	switch f.Kind {
	case reconcile.OnlyInFile:
		return line + " of " + amount(&f.File) + " is not in the log"
	case reconcile.OnlyInLog:
		return fmt.Sprintf("event %s of campaign %s of %s (%s) is not in the file", f.ID, f.Log.Campaign, amount(&f.Log), at)
	case reconcile.Price:
		return fmt.Sprintf("%s costs %s in the file, and %s in %s", line, amount(&f.File), amount(&f.Log), at)
	case reconcile.Day:
		return fmt.Sprintf("%s is of %v in the file, and of %v in %s", line, f.File.CampaignDay, f.Log.CampaignDay, at)
	case reconcile.Twice:
		return line + " is in the file before"
	}
	return string(f.Kind)
}

// show prints the campaign days, or the events.
func (r *reconciliation) show(list []reconcile.Difference, found []reconcile.Finding) error {
	if r.rows {
		return cli.PrintRows(r.a, rowDifferences(found))
	}
	rows := make([]dayDifference, len(list))
	for i, d := range list {
		rows[i] = dayDifference{
			d.Account, d.Campaign, d.Day.String(), d.Currency, d.File.Micros, d.Counted.Micros, d.File.Micros - d.Counted.Micros,
			d.File.Events, d.Counted.Events,
		}
	}
	return cli.PrintRows(r.a, rows)
}

func rowDifferences(found []reconcile.Finding) []rowDifference {
	rows := make([]rowDifference, len(found))
	for i, f := range found {
		row, e := &rows[i], f.File
		if f.File.ID == "" {
			e = f.Log
		} else {
			row.FileMicros = &found[i].File.Micros
		}
		if f.Log.ID != "" {
			row.LogMicros = &found[i].Log.Micros
			row.Log = fmt.Sprintf("%s/%d/%d", f.Place.Topic, f.Place.Partition, f.Place.Offset)
		}
		row.Kind, row.Line, row.EventID, row.Account, row.Campaign = f.Kind, f.Line, f.ID, e.Account, e.Campaign
		row.Day, row.Currency = e.Day.String(), e.Currency
	}
	return rows
}
