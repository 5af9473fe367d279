package spend

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/ingest"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

func newIngestCmd(a *cli.App) *cobra.Command {
	in := ingestion{a: a}
	opt := &in.opt
	var d dialect
	c := &cobra.Command{
		Use:   "ingest FILE|- --format " + strings.Join(ingest.Formats(), "|"),
		Short: "Produce a file of ad events to ads.events",
		Long: "Produce a file of ad events to ads.events, idempotently and with acks=all.\n\n" +
			"The rows of a file are counted once, however often and whenever the file is ingested: the import has\n" +
			"an id, the digest of the file or --import-id, and the counter remembers how far it has come. Rows\n" +
			"of an import that were counted before are counted as duplicates. Standard input and pipes need\n" +
			"--import-id for this. To count events again, use `weir replay`. A row without an event id gets one\n" +
			"from its content and position.\n\n" +
			"The input may be compressed by gzip or zstd.\n\n" +
			"Rejected rows are reported, and kept in FILE.rejects.jsonl. If more than --max-rejects of the rows\n" +
			"are rejected, the import stops with exit code 65. A percentage is tested from the 1,000th row,\n" +
			"and at the end.",
		Example: "  weir ingest log.csv.gz --format csv --map campaign=cid,time=ts,price=cpm --price-unit cpm --currency USD --account acme\n" +
			"  weir ingest - --format jsonl < events.jsonl",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.name = args[0]
			if err := d.parse(dialectTo{&opt.Map, &opt.Delimiter, &opt.Decimal, &in.limit}, ingest.Fields()); err != nil {
				return err
			}
			return in.run(cmd)
		},
	}
	f := c.Flags()
	f.StringVar(&opt.Format, "format", "", "format of the input: "+strings.Join(ingest.Formats(), ", "))
	f.StringVar(&d.columns, "map", "", "csv: field=column,... (fields: "+strings.Join(ingest.Fields(), ", ")+")")
	f.StringVar(&opt.Account, "account", "", "account of rows without one")
	f.StringVar(&opt.Currency, "currency", "", "currency of rows without one, such as USD")
	f.StringVar(&opt.TZ, "tz", "", "time zone of the budget day and of times without a zone, such as Asia/Shanghai (default: UTC)")
	f.StringVar(&opt.PriceUnit, "price-unit", "", "unit of prices, required with prices in csv and openbandit: "+ingest.PriceUnits())
	f.StringVar(&opt.Price, "price", "", "price of an impression if the input has no prices")
	f.StringVar(&opt.ClickPrice, "click-price", "", "price of a click, in formats whose rows imply one")
	f.StringVar(&opt.DC, "dc", "", "serving datacentre of rows without one")
	f.StringVar(&in.importID, "import-id", "", "name of the import, whose rows are counted once (default: the digest of the file)")
	f.StringVar(&opt.IDSpace, "id-space", "", "text that is part of generated event ids; it distinguishes files with equal rows")
	d.add(f, "csv: ", "prices")
	f.StringVar(&opt.TimeFormat, "time-format", "", "csv: format of times, such as '%d/%m/%Y %H:%M' or '02/01/2006 15:04' (default: RFC 3339 and Unix times)")
	f.StringVar(&in.rejects, "rejects", "", "file for rejected rows (default: FILE.rejects.jsonl)")
	cli.Enum(f, "format", ingest.Formats()...)
	cli.Must(c.MarkFlagRequired("format"))
	return c
}

// ingestion is a run of `weir ingest`: the input, the file for rejected rows, and the format.
type ingestion struct {
	a             *cli.App
	name, rejects string
	importID      string
	opt           ingest.Options
	limit         ingest.RejectLimit
}

func (i ingestion) run(cmd *cobra.Command) error {
	a := i.a
	r := importRun{
		a: a, name: i.name, rejects: i.rejects, limit: i.limit, noun: "events", acknowledged: "acknowledged", unit: "--price-unit", format: "--format or --map",
		reader:     "`weir ingest --help` shows the flags",
		stopped:    "Events so far are counted. With a greater --max-rejects the same command continues after them; corrected rows are a file of their own",
		incomplete: "run the same command again: events that arrived count as duplicates",
	}
	src, err := r.open()
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	reader, err := ingest.NewReader(src, i.opt)
	if err != nil {
		return r.readerFailure(err, src)
	}
	to, err := importTarget(cmd.Context(), a, cmd.Flags().Changed("brokers"), events.EventsTopic)
	if to.server != nil {
		defer to.server.Close()
	}
	if err != nil {
		return err
	}
	id, err := i.id(src)
	if err != nil {
		return err
	}
	if to.server != nil {
		i.showEarlier(cmd.Context(), to.server, id)
	}
	sink, err := kafka.NewProducer(to.kafka, to.topic)
	if err != nil {
		return cli.Fail(0, "cannot produce", err, "")
	}
	defer sink.Close()
	sum, err := r.run(cmd.Context(), src, reader, ingest.Job{Sink: importSink{sink}, Import: id, Shards: to.shards, First: i.showFirst})
	if err != nil {
		return err
	}
	return printSummary(a, &sum)
}

// importSink produces the records of an import.
type importSink struct{ *kafka.Producer }

func (s importSink) Produce(ctx context.Context, partition int32, r ingest.Record) error {
	m := stream.Message{Key: r.Key, Value: r.Value}
	if r.Import != nil {
		m.Headers = []stream.Header{{Key: events.ImportHeader, Value: r.Import}}
	}
	return s.ProduceMessage(ctx, partition, m)
}

// id returns the import of the input. Without a name, an input that is not a file has none: it is
// counted again when it is ingested again.
func (i ingestion) id(src *ingest.Source) (events.ImportID, error) {
	switch {
	case i.importID != "":
		return ingest.NamedImport(i.importID), nil
	case src.Size() < 0:
		i.a.Notef("the input is not a file: without --import-id, old events are counted again if it is ingested again")
		return events.ImportID{}, nil
	}
	id, err := ingest.FileImport(i.name, i.opt.IDSpace)
	if err != nil {
		return id, cli.Fail(0, "cannot read the input", err, "check the file, or name the import with --import-id")
	}
	return id, nil
}

// showEarlier notes that the import has counted rows, so that the user does not wait for new
// figures. A server that does not answer the question changes nothing: the counter decides.
func (i ingestion) showEarlier(ctx context.Context, server *api.Client, id events.ImportID) {
	if id == (events.ImportID{}) {
		return
	}
	req := &weirpb.ScanStateRequest{Table: "imports", Prefix: id[:], Limit: 1}
	for {
		page, err := server.ScanState(ctx, req)
		if err == nil && len(page.GetEntries()) > 0 {
			i.a.Notef("this file was imported before: rows that were counted then count as duplicates now (--import-id starts another import)")
		}
		if err != nil || len(page.GetEntries()) > 0 || page.GetNextPageToken() == "" {
			return
		}
		req.PageToken = page.GetNextPageToken()
	}
}
