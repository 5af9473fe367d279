package spend

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/processors/kafka"
)

func newAdjustImportCmd(a *cli.App) *cobra.Command {
	r := importRun{
		a: a, noun: "adjustments", unit: "--amount-unit", format: "--map or --amount-unit",
		help:       "`weir adjust import --help` shows the flags",
		corrected:  "Correct them in the file and import it again: a reference is applied once",
		incomplete: "run the same command again: a reference is applied once",
	}
	opt := ingest.AdjustmentOptions{}
	var d dialect
	var dry bool
	c := &cobra.Command{
		Use:   "import FILE|- --amount-unit major|cent|micros",
		Short: "Produce a CSV file of adjustments to ads.adjustments",
		Long: "Produce a CSV file of adjustments to ads.adjustments, idempotently and with acks=all.\n\n" +
			"Each row needs a reference, unique in its account. A reference is applied once for ever, so a\n" +
			"file can be imported again, also after it was corrected or extended. `weir adjust list` shows\n" +
			"what was applied, and how often a reference arrived.\n\n" +
			"Fields: " + strings.Join(ingest.AdjustmentFields(), ", ") + ".\n" +
			"For invalid traffic, write one row per event: its id as the reference, its price as the amount.\n\n" +
			"The input may be compressed by gzip or zstd. It is read twice: first it is checked, and then it is\n" +
			"produced. --dry-run checks it only. Standard input is copied to a temporary file (in TMPDIR).\n\n" +
			"Rejected rows are reported, and kept in FILE.rejects.jsonl in the current directory. If more than\n" +
			"--max-rejects of the rows are rejected, nothing is produced, and the exit code is 65. A percentage\n" +
			"is tested from the 1,000th row, and at the end.",
		Example: "  weir adjust import refunds.csv --amount-unit major --serving-dc eu --dry-run\n" +
			"  weir adjust import ivt.csv --map reference_id=event_id,campaign=cid,budget_day=day,amount=cost --amount-unit micros \\\n" +
			"    --account acme --currency USD --serving-dc eu --reason invalid_traffic",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.name = args[0]
			if err := d.parse(dialectTo{&opt.Map, &opt.Delimiter, &opt.Decimal, &r.limit}, ingest.AdjustmentFields()); err != nil {
				return err
			}
			return importAdjustments(cmd, r, opt, dry)
		},
	}
	f := c.Flags()
	f.StringVar(&d.columns, "map", "", "field=column,... (default: columns with the names of the fields)")
	f.StringVar(&opt.Unit, "amount-unit", "", "unit of the amounts, required: "+ingest.AdjustmentUnits())
	adjustFlags(f, &opt, " of rows without one")
	d.add(f, "", "amounts")
	d.addLimit(f, "produce nothing")
	f.StringVar(&r.rejects, "rejects", "", rejectsHelp)
	f.BoolVar(&dry, "dry-run", false, "read the file, reject rows and print the sums, but produce nothing")
	return c
}

func importAdjustments(cmd *cobra.Command, r importRun, opt ingest.AdjustmentOptions, dry bool) error {
	r.newReader = func(in io.Reader) (*ingest.Reader, error) { return ingest.NewAdjustmentReader(in, opt) }
	r.print = func(sum *ingest.Summary) error { return printAdjustments(r.a, sum, dry) }
	src, err := r.open(cmd.Context())
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	reader, err := r.reader(src)
	if err != nil {
		return err
	}
	first := func(row *ingest.Row) { r.a.Notef("line %d: %s", row.Line, adjustmentText(row.Adjustment)) }
	if dry {
		sum, err := r.check(cmd.Context(), src, reader, first)
		if err != nil {
			return err
		}
		r.a.Notef("dry run: nothing was produced")
		return r.print(&sum)
	}
	to, err := importTarget(cmd.Context(), r.a, cmd.Flags().Changed("brokers"), events.AdjustmentsTopic)
	if to.server != nil {
		defer to.server.Close()
	}
	if err != nil {
		return err
	}
	checked, err := r.check(cmd.Context(), src, reader, first)
	if err != nil {
		return err
	}
	sink, err := kafka.NewProducer(to.Kafka, to.Name)
	if err != nil {
		return cli.Fail(0, "cannot produce", err, "")
	}
	defer sink.Close()
	return r.produce(cmd.Context(), src, ingest.Job{Sink: importSink{sink}, Shards: to.Shards}, &checked)
}

// adjustSummary is the result of an import for programs.
type adjustSummary struct {
	Read        int64            `json:"read"`
	Produced    int64            `json:"produced"`
	Rejected    int64            `json:"rejected"`
	Repeated    int64            `json:"repeated_in_file"`
	Micros      map[string]int64 `json:"micros"`
	DryRun      bool             `json:"dry_run"` // what was to be produced was not
	RejectsFile string           `json:"rejects_file,omitempty"`
}

func printAdjustments(a *cli.App, sum *ingest.Summary, dry bool) error {
	out := adjustSummary{sum.Read, sum.Produced, sum.Rejected, sum.Repeated, sum.Micros, dry, sum.RejectsFile}
	switch {
	case a.Format == cli.FormatJSON: // one line, because scripts read the last line
		return a.Print(func(w io.Writer) error { return json.NewEncoder(w).Encode(out) })
	case a.Structured():
		return cli.PrintOne(a, out)
	}
	return a.Print(func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
		produced := "produced"
		if dry {
			produced = "to be produced"
		}
		fmt.Fprintf(t, "read:\t%d\n%s:\t%d\nrejected:\t%d\nrepeated in file:\t%d\n", out.Read, produced, out.Produced, out.Rejected,
			out.Repeated)
		for _, currency := range slices.Sorted(maps.Keys(out.Micros)) {
			fmt.Fprintf(t, "amount:\t%s\n", amount(out.Micros[currency], currency))
		}
		if out.RejectsFile != "" {
			fmt.Fprintf(t, "rejects file:\t%q\n", out.RejectsFile)
		}
		return t.Flush()
	})
}
