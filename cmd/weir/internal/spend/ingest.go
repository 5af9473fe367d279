package spend

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/ingest"
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
			"The rows of an input are counted once, however often and whenever it is ingested: the import has an\n" +
			"id, the digest of the input or --import-id, and the counter remembers how far it has come. Rows of\n" +
			"an import that were counted before are counted as duplicates. To count events again, use\n" +
			"`weir replay`.\n\n" +
			"A row without an event id gets one from its content and the number of equal rows before it. Equal\n" +
			"rows of two inputs have the same id, and are one event within the duplicate window: give these\n" +
			"inputs event ids, or a different --id-space each.\n\n" +
			"The input may be compressed by gzip or zstd. It is read twice: first it is checked, and then it is\n" +
			"produced. Standard input is copied to a temporary file (in TMPDIR) until it ends.\n\n" +
			"Rejected rows are reported, and kept in FILE.rejects.jsonl in the current directory. If more than\n" +
			"--max-rejects of the rows are rejected, nothing is produced, and the exit code is 65. A percentage\n" +
			"is tested from the 1,000th row, and at the end.",
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
	addFormat(c, opt, &d)
	f.StringVar(&opt.DC, "dc", "", "serving datacentre of rows without one")
	f.StringVar(&in.importID, "import-id", "", "name of the import, whose rows are counted once (default: the digest of the input)")
	f.StringVar(&in.rejects, "rejects", "", rejectsHelp)
	d.addLimit(f, "produce nothing")
	return c
}

const rejectsHelp = "file for rejected rows (default: FILE.rejects.jsonl in the current directory)"

// addFormat adds the flags that describe a file of events.
func addFormat(c *cobra.Command, opt *ingest.Options, d *dialect) {
	f := c.Flags()
	f.StringVar(&opt.Format, "format", "", "format of the input: "+strings.Join(ingest.Formats(), ", "))
	f.StringVar(&d.columns, "map", "", "csv: field=column,... (fields: "+strings.Join(ingest.Fields(), ", ")+")")
	f.StringVar(&opt.Account, "account", "", "account of rows without one")
	f.StringVar(&opt.Currency, "currency", "", "currency of rows without one, such as USD")
	f.StringVar(&opt.TZ, "tz", "", "time zone of the budget day and of times without a zone, such as Asia/Shanghai (default: UTC)")
	f.StringVar(&opt.PriceUnit, "price-unit", "", "unit of prices, required with prices in csv and openbandit: "+ingest.PriceUnits())
	f.StringVar(&opt.Price, "price", "", "price of an impression if the input has no prices")
	f.StringVar(&opt.ClickPrice, "click-price", "", "price of a click, in formats whose rows imply one")
	f.StringVar(&opt.IDSpace, "id-space", "", "text that is part of generated event ids; it distinguishes the equal rows of two inputs")
	d.add(f, "csv: ", "prices")
	f.StringVar(&opt.TimeFormat, "time-format", "",
		"csv: format of times, such as '%d/%m/%Y %H:%M' or '02/01/2006 15:04' (default: RFC 3339 and Unix times)")
	cli.Enum(f, "format", ingest.Formats()...)
	cli.Must(c.MarkFlagRequired("format"))
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
		a: a, name: i.name, rejects: i.rejects, limit: i.limit, noun: "events", unit: "--price-unit", format: "--format or --map",
		help:       "`weir ingest --help` shows the flags",
		corrected:  "Import them, corrected, as a file of their own: this file's other rows are counted",
		incomplete: "run the same command again, with the same input: events that arrived count as duplicates",
		newReader:  func(in io.Reader) (*ingest.Reader, error) { return ingest.NewReader(in, i.opt) },
		print:      func(sum *ingest.Summary) error { return printSummary(a, sum) },
	}
	src, err := r.open(cmd.Context())
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	i.opt.Now = time.Now()
	reader, err := r.reader(src)
	if err != nil {
		return err
	}
	to, err := importTarget(cmd.Context(), a, cmd.Flags().Changed("brokers"), events.EventsTopic)
	if to.server != nil {
		defer to.server.Close()
	}
	if err != nil {
		return err
	}
	checked, err := r.check(cmd.Context(), src, reader, i.showFirst)
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
	sink, err := kafka.NewProducer(to.Kafka, to.Name)
	if err != nil {
		return cli.Fail(0, "cannot produce", err, "")
	}
	defer sink.Close()
	return r.produce(cmd.Context(), src, ingest.Job{Sink: importSink{sink}, Import: id, Shards: to.Shards}, &checked)
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

// id returns the import of the input.
func (i ingestion) id(src *ingest.Source) (events.ImportID, error) {
	if i.importID != "" {
		return ingest.NamedImport(i.importID), nil
	}
	id, err := src.Import(i.opt.IDSpace)
	if err != nil {
		return id, cli.Fail(0, "cannot read the input", err, "check the file, or name the import with --import-id")
	}
	return id, nil
}

// showEarlier notes that the import has counted rows, so that the user does not wait for new
// figures. A server that does not answer the question changes nothing: the counter decides.
func (i ingestion) showEarlier(ctx context.Context, server *api.Client, id events.ImportID) {
	req := &weirpb.ScanStateRequest{Table: "imports", Prefix: id[:], Limit: 1}
	for {
		page, err := server.ScanState(ctx, req)
		if err == nil && len(page.GetEntries()) > 0 {
			i.a.Notef(
				"this file was imported before: rows that were counted then count as duplicates now (--import-id starts another import)")
		}
		if err != nil || len(page.GetEntries()) > 0 || page.GetNextPageToken() == "" {
			return
		}
		req.PageToken = page.GetNextPageToken()
	}
}
