package spend

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/ingest"
	"github.com/weirhq/weir/processors/kafka"
)

func newIngestCmd(a *cli.App) *cobra.Command {
	in := ingestion{a: a}
	opt := &in.opt
	var columns, delimiter, decimal, limit string
	c := &cobra.Command{
		Use:   "ingest FILE|- --format " + strings.Join(ingest.Formats(), "|"),
		Short: "Produce a file of ad events to ads.events",
		Long: "Produce a file of ad events to ads.events, idempotently and with acks=all.\n\n" +
			"A row without an event id gets one from its content and position. So a file that is ingested again\n" +
			"within spend.duplicate_window (10m) of ingest time counts as duplicates. After that time it would\n" +
			"be counted again; use `weir replay` to count events again.\n\n" +
			"The input may be compressed by gzip or zstd.\n\n" +
			"Rejected rows are reported, and kept in FILE.rejects.jsonl. If more than --max-rejects of the rows\n" +
			"are rejected, the import stops with exit code 65. A percentage is tested from the 1,000th row,\n" +
			"and at the end.",
		Example: "  weir ingest log.csv.gz --format csv --map campaign=cid,time=ts,price=cpm --price-unit cpm --currency USD --account acme\n" +
			"  weir ingest - --format jsonl < events.jsonl",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			in.name = args[0]
			if columns != "" {
				if opt.Map, err = ingest.ParseMap(columns); err != nil {
					return cli.UsageError(err.Error(), "write --map field=column,field=column; the fields are: "+strings.Join(ingest.Fields(), ", "))
				}
			}
			if in.limit, err = ingest.ParseRejectLimit(limit); err != nil {
				return cli.UsageError(err.Error(), "write --max-rejects 100 or --max-rejects 10%")
			}
			if opt.Delimiter, err = oneByte(delimiter); err != nil {
				return cli.UsageError("--delimiter: "+err.Error(), "write --delimiter ';' or --delimiter tab")
			}
			if opt.Decimal, err = oneByte(decimal); err != nil {
				return cli.UsageError("--decimal: "+err.Error(), "write --decimal ',' or --decimal .")
			}
			return in.run(cmd)
		},
	}
	f := c.Flags()
	f.StringVar(&opt.Format, "format", "", "format of the input: "+strings.Join(ingest.Formats(), ", "))
	f.StringVar(&columns, "map", "", "csv: field=column,... (fields: "+strings.Join(ingest.Fields(), ", ")+")")
	f.StringVar(&opt.Account, "account", "", "account of rows without one")
	f.StringVar(&opt.Currency, "currency", "", "currency of rows without one, such as USD")
	f.StringVar(&opt.TZ, "tz", "", "time zone of the budget day and of times without a zone, such as Asia/Shanghai (default: UTC)")
	f.StringVar(&opt.PriceUnit, "price-unit", "", "unit of prices, required with prices in csv and openbandit: "+ingest.PriceUnits())
	f.StringVar(&opt.Price, "price", "", "price of an impression if the input has no prices")
	f.StringVar(&opt.ClickPrice, "click-price", "", "price of a click, in formats whose rows imply one")
	f.StringVar(&opt.DC, "dc", "", "serving datacentre of rows without one")
	f.StringVar(&opt.IDSpace, "id-space", "", "text that is part of generated event ids; it distinguishes files with equal rows")
	f.StringVar(&delimiter, "delimiter", "", "csv: character between columns, or tab (default: ,)")
	f.StringVar(&decimal, "decimal", "", "csv: decimal mark of prices, a point or a comma (default: .)")
	f.StringVar(&opt.TimeFormat, "time-format", "", "csv: format of times, such as '%d/%m/%Y %H:%M' or '02/01/2006 15:04' (default: RFC 3339 and Unix times)")
	f.StringVar(&limit, "max-rejects", "10%", "stop with exit code 65 if more rows are rejected: a number, or a percentage")
	f.StringVar(&in.rejects, "rejects", "", "file for rejected rows (default: FILE.rejects.jsonl)")
	cli.Must(c.MarkFlagRequired("format"))
	return c
}

// ingestion is a run of `weir ingest`: the input, the file for rejected rows, and the format.
type ingestion struct {
	a             *cli.App
	name, rejects string
	opt           ingest.Options
	limit         ingest.RejectLimit
}

// oneByte returns the character of a flag: 0 if it is not given.
func oneByte(text string) (byte, error) {
	switch {
	case text == "":
		return 0, nil
	case text == "tab" || text == `\t`:
		return '\t', nil
	case len(text) == 1:
		return text[0], nil
	}
	return 0, fmt.Errorf("%q is not one ASCII character", text)
}

func (i ingestion) run(cmd *cobra.Command) error {
	a, name, rejects := i.a, i.name, i.rejects
	src, err := ingest.Open(name, a.Stdin)
	if err != nil {
		return cli.Fail(0, "cannot open the input", err, "check the path; - reads standard input")
	}
	defer func() { _ = src.Close() }()
	reader, err := ingest.NewReader(src, i.opt)
	if errors.Is(err, ingest.ErrNoPriceUnit) {
		return cli.UsageError(err.Error(), "add --price-unit major if prices are like 1.50 for one and a half dollars, else the unit that fits")
	}
	var delimiter *ingest.DelimiterError
	if errors.As(err, &delimiter) {
		flag := "'" + string(rune(delimiter.Looks)) + "'"
		if delimiter.Looks == '\t' {
			flag = "tab"
		}
		return cli.UsageError(err.Error(), "add --delimiter "+flag)
	}
	if errors.Is(err, ingest.ErrUsage) {
		return cli.UsageError(err.Error(), "`weir ingest --help` shows the flags")
	}
	if err != nil {
		return cli.Fail(cli.ExitData, fmt.Sprintf("cannot read %q", src.Name()), err, "check --format")
	}
	to, err := ingestTarget(cmd.Context(), a, cmd.Flags().Changed("brokers"))
	if err != nil {
		return err
	}
	sink, err := kafka.NewProducer(to.kafka, to.topic)
	if err != nil {
		return cli.Fail(0, "cannot produce", err, "")
	}
	defer sink.Close()
	if rejects == "" {
		rejects = ingest.RejectsName(filepath.Base(name))
	}
	file := ingest.NewRejectFile(rejects)
	bar, done := ingestProgress(a, src.Size())
	sum, err := ingest.Run(cmd.Context(), reader, ingest.Job{Sink: sink, Rejects: file, Shards: to.shards, MaxRejects: i.limit, First: i.showFirst, Progress: bar})
	done()
	if err = errors.Join(err, file.Close()); err != nil {
		a.Notef("so far: %d rows read, %d events acknowledged, %d rows rejected", sum.Read, sum.Produced, sum.Rejected)
		if errors.Is(err, ingest.ErrTooManyRejects) && sum.Rejected < sum.Read {
			return cli.Fail(cli.ExitData, "the import stopped", err, fmt.Sprintf(
				"see the reasons in %q, then run the command again within spend.duplicate_window, or with a greater --max-rejects", sum.RejectsFile))
		}
		if errors.Is(err, ingest.ErrTooManyRejects) {
			return cli.Fail(cli.ExitData, "nothing was imported", fmt.Errorf("every row was rejected: %w", err),
				fmt.Sprintf("see the reasons in %q; often --format or --map is wrong", sum.RejectsFile))
		}
		return cli.Fail(0, "the import is not complete", err,
			"run the same command again within spend.duplicate_window: events that arrived count as duplicates")
	}
	if sum.Read == 0 {
		a.Notef("the input has no rows: nothing was produced")
	}
	if sum.Rejected > 0 {
		a.Notef("%d of %d rows were rejected: %q has each row with its line and reason", sum.Rejected, sum.Read, sum.RejectsFile)
	}
	if sum.Rejected == sum.Read && sum.Read > 0 {
		return cli.Fail(cli.ExitData, "nothing was imported", errors.New("every row was rejected"), fmt.Sprintf("see the reasons in %q; often --format or --map is wrong", sum.RejectsFile))
	}
	return printSummary(a, &sum)
}

// target is the topic of the events, its brokers and its partitions.
type target struct {
	kafka  kafka.Cluster
	topic  string
	shards int32
}

// ingestTarget returns the target of --brokers if named, else the target that the server reports.
func ingestTarget(ctx context.Context, a *cli.App, named bool) (to target, err error) {
	cfg, k, err := connect.Cluster(a)
	if err != nil {
		return to, err
	}
	l := node.SpendCounter(cfg).Layout
	to = target{k, l.Name(events.EventsTopic), l.Partitions()}
	if !named {
		client, err := connect.APIClient(a)
		if err != nil {
			return to, err
		}
		defer client.Close()
		cluster, err := client.GetCluster(ctx)
		if err != nil {
			return to, err
		}
		to.kafka.Brokers, to.topic, to.shards = cluster.Brokers, cluster.EventsTopic, cluster.Partitions
	}
	has, err := connect.Partitions(ctx, to.kafka, to.topic)
	if err == nil && (has < to.shards || named && has != to.shards) { // a server knows its partitions, and ignores others
		return to, &cli.Failure{
			Code: cli.ExitConfig, What: "cannot produce to " + to.topic,
			Why: fmt.Sprintf("the topic has %d partitions, and the configuration %d: the spend counter would reject the events", has, to.shards),
			Do:  fmt.Sprintf("set spend.partitions to %d, or spend.generation to the generation of the topics with %d partitions", has, to.shards),
		}
	}
	return to, err
}
