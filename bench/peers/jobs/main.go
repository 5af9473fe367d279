package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/weirhq/weir/bench/peers/child"
	"github.com/weirhq/weir/bench/peers/figures"
)

func main() { child.Main("jobs", run) }

// run runs the comparison of args and writes the table to out, even after an error.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	b := bench{Runner: child.Runner{Log: log}}
	f := flag.NewFlagSet("jobs", flag.ContinueOnError)
	f.SetOutput(log)
	f.StringVar(&b.brokers, "brokers", "127.0.0.1:9092", "bootstrap brokers of weir, without TLS and authentication")
	f.StringVar(&b.database, "database", "postgres://postgres@127.0.0.1:5432/weir_bench",
		"URL of the database of River, whose jobs are deleted")
	f.DurationVar(&b.duration, "duration", 30*time.Second, "duration of each measurement")
	f.IntVar(&b.rate, "rate", 1000, "jobs per second of the measurement of the latency")
	f.IntVar(&b.rounds, "rounds", 3, "rounds of all systems")
	format := f.String("o", "text", "text or json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if b.duration <= 0 || b.rate < 1 || b.rounds < 1 || *format != "text" && *format != "json" {
		return errors.New("-duration is above 0, -rate and -rounds are 1 or more, -o is text or json")
	}
	var err error
	if b.root, err = child.Repository(ctx); err != nil {
		return err
	}
	if b.scratch, err = os.MkdirTemp("", "weir-peers"); err != nil {
		return err
	}
	err = b.measure(ctx)
	if rows := tabulate(b.samples); len(rows) > 0 {
		err = errors.Join(err, write(out, report{rows, b.missing}, *format))
	}
	return errors.Join(err, os.RemoveAll(b.scratch))
}

// report is the result of a comparison.
type report struct {
	Rows    []row             `json:"rows"`
	Missing []figures.Missing `json:"not_measured"`
}

// write writes a table or a JSON document, with what was not measured.
func write(w io.Writer, r report, format string) error {
	if format == "json" {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SYSTEM\tROUNDS\tJOBS/S\tMIN..MAX\tWEIR / IT\tP50 MS\tP99 MS\tMIN..MAX\tPEAK GIB")
	for _, x := range r.Rows {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.0f..%.0f\t%.2f\t%.1f\t%.1f\t%.1f..%.1f\t%s\n", x.System, x.Rounds,
			x.PerSecond.Median, x.PerSecond.Min, x.PerSecond.Max, x.Ratio,
			x.P50.Median, x.P99.Median, x.P99.Min, x.P99.Max, figures.GiB(x.Peak))
	}
	for _, m := range r.Missing {
		fmt.Fprintf(t, "%s: %s: not measured\n", m.What, m.Why)
	}
	return t.Flush()
}
