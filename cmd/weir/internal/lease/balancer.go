package lease

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/balancer/backtest"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/status"
)

// newBalancerCmd returns `weir balancer`.
func newBalancerCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "balancer", Short: "Show planned transfers, and test the balancer on recorded demand"}
	c.AddCommand(newBalancerPlanCmd(a), newBalancerBacktestCmd(a))
	return c
}

// planRow is a transfer that the balancer would make now, or the reason why it makes none.
type planRow struct {
	Client string `json:"client"`
	Pool   string `json:"pool"`
	Kind   string `json:"kind"` // move, pull, evacuate; empty: no transfer
	From   string `json:"from"`
	To     string `json:"to"`
	Count  int64  `json:"count"`
	Why    string `json:"why"`
}

func newBalancerPlanCmd(a *cli.App) *cobra.Command {
	q := &statusQuery{}
	c := &cobra.Command{
		Use:   "plan",
		Short: "Show the transfers that the balancer would make now, with reasons",
		Long: "Show the transfers that the balancer would make now, each with its reason, and the state of the\n" +
			"other regions. The plan uses the balancer's last figures of each pool and region, and the settings\n" +
			"leases.balancer of this configuration. The balancer makes its own plan every\n" +
			"leases.balancer.plan_interval and carries it out; this command never does.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, k, err := connect.LeaseCluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			all, err := status.Headroom(cmd.Context(), k, status.Query{Client: q.client, Pool: q.pool})
			if err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot read the state of the pools", err, leaseTopicsRemedy)
			}
			rows := plans(all, node.BalancerConfig(cfg).Limits)
			if a.Structured() {
				return cli.PrintRows(a, rows)
			}
			return a.Print(func(w io.Writer) error {
				if len(rows) == 0 {
					fmt.Fprintln(w, noPools)
				}
				for _, r := range rows {
					fmt.Fprintf(w, "%s/%s  %-8s  %s\n", r.Client, r.Pool, r.Kind, r.Why)
				}
				return nil
			})
		},
	}
	q.flags(c)
	c.Flags().Bool("dry-run", true, "has no effect: the command only prints the plan")
	cli.Must(c.Flags().MarkHidden("dry-run"))
	return c
}

// plans returns the plans of all pools. all is ordered by client and pool.
func plans(all []*eventspb.LeaseHeadroom, limits plan.Limits) []planRow {
	rows := []planRow{}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Client == all[0].Client && all[n].Pool == all[0].Pool {
			n++
		}
		views := make([]plan.View, n)
		for i, h := range all[:n] {
			views[i] = plan.ViewOf(h)
		}
		client, pool := all[0].Client, all[0].Pool
		for _, m := range plan.Moves(views, limits) {
			rows = append(rows, planRow{client, pool, m.Kind, m.From, m.To, m.Count, m.Why})
		}
		for _, why := range plan.Explain(views, limits) {
			rows = append(rows, planRow{Client: client, Pool: pool, Why: why})
		}
		all = all[n:]
	}
	return rows
}

// backtestFlags are the flags of `weir balancer backtest`.
type backtestFlags struct {
	shift       time.Duration
	rate, stock float64
	days        int
	seed        uint64
	svg         string
}

func newBalancerBacktestCmd(a *cli.App) *cobra.Command {
	f := &backtestFlags{}
	c := &cobra.Command{
		Use:   "backtest [REGION=FILE...]",
		Short: "Simulate the balancer and a simple policy on recorded demand",
		Long: "Simulate forecasts and transfers on recorded demand, and compare the balancer with a simple\n" +
			"policy: hourly release, and targets in proportion to a ten-minute EWMA.\n\n" +
			"A file is the demand of one region, as CSV, plain or gzip: time (Unix seconds, RFC 3339 or\n" +
			"2006-01-02 15:04:05) and value. Without files the demand of three regions is generated, with\n" +
			"daily cycles and spikes.",
		Example: "  weir balancer backtest us=web1.csv.gz eu=web2.csv.gz ap=web3.csv.gz --shift 8h --rate 3 --days 4 --svg backtest.svg",
		RunE: func(_ *cobra.Command, args []string) error {
			curves, err := f.curves(args)
			if err != nil {
				return err
			}
			cfg, err := a.LoadConfig()
			if err != nil {
				return err
			}
			report, err := backtest.Run(curves, backtest.Config{Stock: f.stock, Seed: f.seed, Limits: node.BalancerConfig(cfg).Limits})
			if err != nil {
				return cli.Fail(cli.ExitData, "cannot simulate this demand", err,
					"give files of the same length and step, which --days shortens, and a --stock within the limits")
			}
			if f.svg != "" {
				if err := cli.WriteFile(f.svg, report.SVG); err != nil {
					return cli.Fail(cli.ExitIO, "cannot write the picture", err, "check the path of --svg")
				}
				a.Notef("wrote %s", f.svg)
			}
			policies, forecasts := report.Rows()
			if a.Structured() {
				return cli.PrintOne(a, map[string][]map[string]string{"policies": named(policies), "forecasts": named(forecasts)})
			}
			return a.Print(func(w io.Writer) error {
				for i, table := range [][][]string{policies, forecasts} {
					if i > 0 {
						fmt.Fprintln(w)
					}
					writeColumns(w, table)
				}
				return nil
			})
		},
	}
	cli.RefuseServer(c, "it reads files and nothing of a process")
	fl := c.Flags()
	fl.DurationVar(&f.shift, "shift", 0, "time by which each region's day begins later than the day of the region before")
	fl.Float64Var(&f.rate, "rate", 3, "mean of new leases per second in each region; the files are scaled to it")
	fl.IntVar(&f.days, "days", 0, "number of days (default: the length of the shortest file; 4 without files)")
	fl.Float64Var(&f.stock, "stock", 1.3, "number of resources, relative to the peak of leased resources")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the random arrivals")
	fl.StringVar(&f.svg, "svg", "", "file for a picture of the simulation")
	return c
}

// curves reads the demand of each region from its file, or generates demand.
func (f *backtestFlags) curves(args []string) ([]backtest.Curve, error) {
	if f.days < 0 || f.days > 366 {
		return nil, cli.UsageError(fmt.Sprintf("--days %d is out of range", f.days), "use 1 to 366, or 0 for the default")
	}
	if !(f.rate > 0 && f.rate <= 10_000) {
		return nil, cli.UsageError(fmt.Sprintf("--rate %g is out of range", f.rate), "use more than 0 and at most 10000 leases per second")
	}
	if len(args) == 0 {
		days := f.days
		if days == 0 {
			days = 4
		}
		return backtest.Synthetic(days, f.seed), nil
	}
	curves := make([]backtest.Curve, len(args))
	least := time.Duration(1<<63 - 1)
	for i, arg := range args {
		region, name, ok := strings.Cut(arg, "=")
		if !ok || region == "" || name == "" {
			return nil, cli.UsageError(fmt.Sprintf("the argument %q is not REGION=FILE", arg), "write it as us=demand.csv")
		}
		file, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, cli.Fail(cli.ExitIO, "cannot open "+name, err, "check the path")
		}
		curves[i], err = backtest.Read(region, file)
		if err = errors.Join(err, file.Close()); err != nil {
			code := cli.ExitData
			if errors.As(err, new(*fs.PathError)) {
				code = cli.ExitIO
			}
			return nil, cli.Fail(code, "cannot read "+name, err, "`weir balancer backtest --help` describes the format")
		}
		least = min(least, time.Duration(len(curves[i].Rate))*curves[i].Step)
	}
	if f.days > 0 {
		least = time.Duration(f.days) * 24 * time.Hour
	}
	for i := range curves {
		curves[i] = curves[i].Cut(0, least).Shift(time.Duration(i) * f.shift).Scale(f.rate)
	}
	return curves, nil
}

// named returns the rows of a table by the names in its first line.
func named(table [][]string) []map[string]string {
	rows := []map[string]string{}
	for _, line := range table[1:] {
		row := map[string]string{}
		for i, name := range table[0] {
			row[strings.NewReplacer(" ", "_", "%", "percent").Replace(name)] = line[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// writeColumns writes a table with its first column aligned to the left, the others to the right.
func writeColumns(w io.Writer, table [][]string) {
	width := make([]int, len(table[0]))
	for _, line := range table {
		for i, cell := range line {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, line := range table {
		for i, cell := range line {
			if i == 0 {
				fmt.Fprintf(w, "%-*s", width[0], cell)
				continue
			}
			fmt.Fprintf(w, "  %*s", width[i], cell)
		}
		fmt.Fprintln(w)
	}
}
