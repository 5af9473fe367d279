package spend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/ingest"
	"github.com/weirhq/weir/processors/kafka"
)

func newIngestCmd(a *cli.App) *cobra.Command {
	var opt ingest.Options
	var columns, rejects string
	c := &cobra.Command{
		Use:   "ingest FILE|- --format " + strings.Join(ingest.Formats(), "|"),
		Short: "Produces a file of ad events into ads.events",
		Long: "Produces a file of ad events into ads.events, idempotently and with all replicas' word. Event ids that the file\n" +
			"does not give are made of a row's content and position: the same file again is counted as duplicates within\n" +
			"spend.duplicate_window (10m) of ingest time. Beyond it, it counts again: replay into a new application instead.\n" +
			"Rows that cannot be taken are named, and kept in FILE.rejects.jsonl.",
		Example: "  weir ingest log.csv.gz --format csv --map campaign=cid,time=ts,price=cpm --price-unit cpm --currency USD --account acme\n" +
			"  weir ingest - --format jsonl < events.jsonl",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if columns == "" {
				return ingestion{a, args[0], rejects, opt}.run(cmd)
			}
			var err error
			if opt.Map, err = ingest.ParseMap(columns); err != nil {
				return cli.UsageError(err.Error(), "write --map field=column,field=column; the fields are: "+strings.Join(ingest.Fields(), ", "))
			}
			return ingestion{a, args[0], rejects, opt}.run(cmd)
		},
	}
	f := c.Flags()
	f.StringVar(&opt.Format, "format", "", "format of the input: "+strings.Join(ingest.Formats(), ", "))
	f.StringVar(&columns, "map", "", "csv: field=column,... (fields: "+strings.Join(ingest.Fields(), ", ")+")")
	f.StringVar(&opt.Account, "account", "", "account of rows that name none")
	f.StringVar(&opt.Currency, "currency", "", "currency of rows that name none, such as USD")
	f.StringVar(&opt.TZ, "tz", "", "time zone of times without one and of the budget day, such as Asia/Shanghai (default: UTC)")
	f.StringVar(&opt.PriceUnit, "price-unit", "", "unit of prices: micros, unit, cent, fen, cpm, cpm-cent, cpm-fen, cpm-micros (default: micros)")
	f.StringVar(&opt.Price, "price", "", "price of an impression where the input has none")
	f.StringVar(&opt.ClickPrice, "click-price", "", "price of a click that a row implies")
	f.StringVar(&opt.DC, "dc", "", "serving datacentre of rows that name none")
	f.StringVar(&opt.IDSpace, "id-space", "", "text mixed into made-up event ids, to tell apart files with equal rows")
	f.StringVar(&rejects, "rejects", "", "file for rejected rows (default: FILE.rejects.jsonl)")
	cli.Must(c.MarkFlagRequired("format"))
	return c
}

// ingestion is one import: the name of the file and of that for its rejected rows, and how to read it.
type ingestion struct {
	a             *cli.App
	name, rejects string
	opt           ingest.Options
}

func (i ingestion) run(cmd *cobra.Command) error {
	a, name, rejects := i.a, i.name, i.rejects
	src, err := ingest.Open(name, a.Stdin)
	if err != nil {
		return cli.Fail(0, "cannot open the input", err, "check the path; - reads standard input")
	}
	defer func() { _ = src.Close() }()
	reader, err := ingest.NewReader(src, i.opt)
	if errors.Is(err, ingest.ErrUsage) {
		return cli.UsageError(err.Error(), "`weir ingest --help` shows the flags")
	}
	if err != nil {
		return cli.Fail(cli.ExitData, "cannot read "+src.Name(), err, "check --format")
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
	sum, err := ingest.Run(cmd.Context(), reader, ingest.Target{Sink: sink, Shards: to.shards}, file, bar)
	done()
	if err = errors.Join(err, file.Close()); err != nil {
		a.Notef("so far: %d rows read, %d events safe, %d rows rejected; the same command again continues without counting twice", sum.Read, sum.Produced, sum.Rejected)
		return cli.Fail(0, "the import did not end", err, "run the same command again: events that arrived are recognised as duplicates within the duplicate window")
	}
	if sum.Rejected > 0 {
		a.Notef("%d of %d rows were rejected: %s names each with its line and reason", sum.Rejected, sum.Read, sum.RejectsFile)
	}
	if sum.Rejected == sum.Read && sum.Read > 0 {
		return cli.Fail(cli.ExitData, "nothing was imported", errors.New("every row was rejected"), "look at a reason in "+sum.RejectsFile+": often --format or --map")
	}
	if a.Format == cli.FormatJSON { // one line: scripts read the last one
		return a.Print(func(w io.Writer) error { return json.NewEncoder(w).Encode(sum) })
	}
	return cli.PrintOne(a, sum)
}

// target is where events go.
type target struct {
	kafka  kafka.Cluster
	topic  string
	shards int32
}

// ingestTarget is the brokers that are named, or what the server knows.
func ingestTarget(ctx context.Context, a *cli.App, named bool) (to target, err error) {
	cfg, k, err := connect.Cluster(a)
	if err != nil {
		return to, err
	}
	l := node.SpendRole(cfg).Layout
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
	if err == nil && has != to.shards {
		return to, &cli.Failure{
			Code: cli.ExitConfig, What: "cannot produce to " + to.topic, Why: fmt.Sprintf("it has %d partitions, and accounts would be spread over %d: their records would be refused", has, to.shards),
			Do: fmt.Sprintf("set spend.partitions to %d, or spend.generation to that of the topics with %d", has, to.shards),
		}
	}
	return to, err
}

// ingestProgress shows how far an import is, on a terminal only.
func ingestProgress(a *cli.App, total int64) (report ingest.Progress, done func()) {
	if !a.IsTerminal() {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(a.Stderr), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription("ingest"), progressbar.OptionThrottle(100_000_000), progressbar.OptionClearOnFinish(),
		progressbar.OptionEnableColorCodes(a.Color()))
	return func(s ingest.Status) {
		bar.Describe(fmt.Sprintf("ingest %d events", s.Produced))
		_ = bar.Set64(s.BytesRead)
	}, func() { _ = bar.Finish() }
}
