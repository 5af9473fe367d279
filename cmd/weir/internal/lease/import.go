package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/lease/admin"
)

func newResourceImportCmd(a *cli.App) *cobra.Command {
	r := &resources{a: a}
	var rate int
	var maxOutage time.Duration
	var file string
	var limit rejectLimit
	cli.Must(limit.Set("10%"))
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Add a resource for each line of a file; - reads standard input",
		Long: "Add a resource for each line of a file. Existing resources are not changed, so an import can be\n" +
			"run again. The table keeps the progress of a file: a second import of the same file continues\n" +
			"where the first one stopped, and tries rejected lines again. The rate begins at 4,000 resources\n" +
			"per second and adapts to the throttling of the table, up to --rate.\n\n" +
			"If DynamoDB does not answer, the import waits, reports it once a minute, and continues by itself.\n" +
			"It gives up after --max-outage, or when it is interrupted.\n\n" +
			"Blanks around a name and a byte order mark are removed. A line that is not a valid name, and a\n" +
			"resource that exists in another pool, are rejected: the first ten are printed, and all are kept in\n" +
			"FILE.rejects.jsonl in the current directory. A name with control characters or invisible ones, such\n" +
			"as U+202E, is not valid.\n" +
			"If more lines are rejected than --max-rejects allows, the exit code is 65. A percentage is tested\n" +
			"from the 1,000th line, and at the end.",
		Example: "  weir resource import domains.txt --client acme --pool domains --region us-east-1 --rate 10000",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if rate < 0 {
				return cli.UsageError(fmt.Sprintf("--rate %d is negative", rate), "give resources per second, or 0 for no limit")
			}
			if maxOutage <= 0 {
				return cli.UsageError(fmt.Sprintf("--max-outage %v is not positive", maxOutage),
					"give how long the import may wait, such as 1h")
			}
			if file == "" {
				file = ingest.RejectsName(filepath.Base(args[0]))
			}
			bad := &rejects{a: a, file: ingest.NewRejectFile(file), limit: limit}
			from := admin.ResourceImport{MaxRate: rate, MaxOutage: maxOutage, Rejected: bad.reject}
			return errors.Join(r.load(cmd, args[0], from, bad), bad.file.Close())
		},
	}
	r.flags(c.Flags())
	r.poolFlag(c.Flags())
	connect.RegionFlag(a, c.Flags(), "region that owns the resources")
	c.Flags().IntVar(&rate, "rate", 0, "maximum number of resources per second (default: until the table throttles)")
	c.Flags().DurationVar(&maxOutage, "max-outage", admin.DefaultMaxOutage, "how long the import waits for a table that does not answer")
	c.Flags().StringVar(&file, "rejects", "", "file for rejected lines (default: FILE.rejects.jsonl in the current directory)")
	c.Flags().Var(&limit, "max-rejects", "rejected lines, as a number or a percentage, above which the import fails")
	return c
}

func (r *resources) load(cmd *cobra.Command, name string, from admin.ResourceImport, bad *rejects) error {
	l, err := connect.LeaseTable(cmd.Context(), r.a)
	if err != nil {
		return err
	}
	from.Client, from.Pool, from.Region = r.client, r.pool, l.Config.LocalRegion()
	in, total := r.a.Stdin, int64(-1)
	if name != "-" {
		file, err := openInput(name)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		if from.ID, total, err = identify(file, from); err != nil {
			return cli.Fail(0, "cannot read "+name, err, "")
		}
		in = file
	}
	from.Outage = func(o admin.ImportOutage) { r.reportOutage(o, from.MaxOutage) }
	var done func()
	from.Progress, done = countBar(r.a, total, func(s admin.ImportProgress) int64 { return s.Lines })
	begun := time.Now()
	sum, err := l.ImportResources(cmd.Context(), in, from)
	done()
	bad.note()
	if err == nil || sum.Lines > 0 {
		r.a.Notef("%d resources added in %v, %.0f a second", sum.Created, time.Since(begun).Round(time.Millisecond),
			float64(sum.Created)/time.Since(begun).Seconds())
		if err := printImport(r.a, sum); err != nil {
			return err
		}
	}
	if err != nil && !errors.Is(err, errRejects) {
		return incomplete(err, name)
	}
	return bad.failure(&sum, err != nil)
}

// openInput opens a file with one resource per line.
func openInput(name string) (*os.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, cli.Fail(0, "cannot open the input", err, "check the path; - reads standard input")
	}
	return file, nil
}

// printImport prints the result of an import, also of one that is not complete.
func printImport(a *cli.App, sum admin.ImportProgress) error {
	if a.Format == cli.FormatJSON { // one line, because scripts read the last line
		return a.Print(func(w io.Writer) error { return json.NewEncoder(w).Encode(sum) })
	}
	return cli.PrintOne(a, sum)
}

// reportOutage reports that the import waits for DynamoDB, or that it continues.
func (r *resources) reportOutage(o admin.ImportOutage, limit time.Duration) {
	if o.Err == nil {
		r.a.Notef("DynamoDB answers again after %v; the import continues", o.For.Round(time.Second))
		return
	}
	r.a.Notef("waiting for %v, at most %v: %v", o.For.Round(time.Second), limit, o.Err)
}

// incomplete returns the failure of an import that ended with err, and how to continue.
func incomplete(err error, name string) error {
	again := "the same command continues where this one stopped"
	if name == "-" {
		again = "give the same input again: existing resources are not changed"
	}
	f := cli.Explain(connect.LeaseFailure("the import is not complete", err))
	f.Do += "; " + again
	return f
}

// identify returns an id of the import, a hash of contents, pool and region, and the number of
// lines. It leaves the file at its beginning.
func identify(file io.ReadSeeker, from admin.ResourceImport) (id string, lines int64, err error) {
	h := xxhash.New()
	fmt.Fprintf(h, "%q %q ", from.Pool, from.Region)
	buf := make([]byte, 1<<16)
	last := byte('\n')
	for {
		n, err := file.Read(buf)
		for _, b := range buf[:n] {
			if last = b; b == '\n' {
				lines++
			}
		}
		_, _ = h.Write(buf[:n]) // it cannot fail
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", 0, err
		}
	}
	if last != '\n' {
		lines++
	}
	_, err = file.Seek(0, io.SeekStart)
	return strconv.FormatUint(h.Sum64(), 16), lines, err
}

// countBar draws a progress bar for total lines. Without a terminal it draws nothing.
func countBar(a *cli.App, total int64, at func(admin.ImportProgress) int64) (progress func(admin.ImportProgress), done func()) {
	if !a.IsTerminal() {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(a.Stderr), progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetDescription("import"), progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(),
		progressbar.OptionEnableColorCodes(a.Color()))
	return func(s admin.ImportProgress) { _ = bar.Set64(at(s)) }, func() { _ = bar.Finish() }
}
