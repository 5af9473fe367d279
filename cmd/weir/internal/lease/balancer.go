package lease

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/leasestatus"
	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/balancer/backtest"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events/eventspb"
)

// newBalancerCmd returns `weir balancer`.
func newBalancerCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "balancer", Short: "Shows what the balancer would move and why, and tries its policy on recorded demand"}
	c.AddCommand(newBalancerPlanCmd(a), newBalancerBacktestCmd(a))
	return c
}

// planRow is a move that the balancer would make now, or why it makes none.
type planRow struct {
	Client string `json:"client"`
	Pool   string `json:"pool"`
	Kind   string `json:"kind"` // move, pull, evacuate; empty: nothing moves
	From   string `json:"from"`
	To     string `json:"to"`
	Count  int64  `json:"count"`
	Why    string `json:"why"`
}

func newBalancerPlanCmd(a *cli.App) *cobra.Command {
	q := &statusQuery{}
	var dry bool
	c := &cobra.Command{
		Use:   "plan --dry-run",
		Short: "Says in a sentence each what would be moved now and why, and how the other regions stand",
		Long: "Says in a sentence each what would be moved now and why, and how the other regions stand. It plans as the balancer does, from what that\n" +
			"last said of each pool and region, with leases.balancer of the configuration here; the balancer makes its own plan every\n" +
			"leases.balancer.plan_interval and carries it out.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !dry {
				return cli.UsageError("only the balancer carries plans out", "give --dry-run, or run the role balancer")
			}
			cfg, k, err := connect.Cluster(a)
			if err != nil {
				return err
			}
			all, err := leasestatus.Headroom(cmd.Context(), k, leasestatus.Query{Client: q.client, Pool: q.pool})
			if err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot read how the pools stand", err, "check --brokers; `weir topics plan --for leases` shows what is missing")
			}
			rows := plans(all, node.BalancerConfig(cfg).Limits)
			if a.Structured() {
				return cli.PrintRows(a, rows)
			}
			return a.Print(func(w io.Writer) error {
				if len(rows) == 0 {
					fmt.Fprintln(w, "no pool was seen yet: the balancer says how they stand a few seconds after the first change")
				}
				for _, r := range rows {
					fmt.Fprintf(w, "%s/%s  %-8s  %s\n", r.Client, r.Pool, r.Kind, r.Why)
				}
				return nil
			})
		},
	}
	q.flags(c)
	c.Flags().BoolVar(&dry, "dry-run", false, "only say it")
	return c
}

// plans are the plans of all pools. all is by client and pool.
func plans(all []*eventspb.LeaseHeadroom, limits balancer.Limits) []planRow {
	rows := []planRow{}
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Client == all[0].Client && all[n].Pool == all[0].Pool {
			n++
		}
		views := make([]balancer.View, n)
		for i, h := range all[:n] {
			views[i] = balancer.ViewOf(h)
		}
		client, pool := all[0].Client, all[0].Pool
		for _, m := range balancer.Plan(views, limits) {
			rows = append(rows, planRow{client, pool, m.Kind, m.From, m.To, m.Count, m.Why})
		}
		for _, why := range balancer.Explain(views, limits) {
			rows = append(rows, planRow{Client: client, Pool: pool, Why: why})
		}
		all = all[n:]
	}
	return rows
}

// backtestFlags are how curves are made of files.
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
		Short: "Tries the forecasts and the policy on recorded demand, beside the policy that they replace",
		Long: "Tries the forecasts and the policy on recorded demand, beside hourly liberation and proportional targets from a ten-minute EWMA.\n" +
			"A file is CSV, plain or gzip: time (Unix seconds, RFC 3339 or 2006-01-02 15:04:05) and value; each is one region. Without files\n" +
			"three regions with daily cycles and spikes are made up.",
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
				return cli.Fail(cli.ExitData, "cannot try these curves", err, "they need one length and step: --days cuts them")
			}
			if f.svg != "" {
				if err := writeFile(f.svg, report.SVG); err != nil {
					return cli.Fail(cli.ExitIO, "cannot write the picture", err, "give another --svg")
				}
				a.Notef("picture in %s", f.svg)
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
	fl := c.Flags()
	fl.DurationVar(&f.shift, "shift", 0, "how much later each region's day is than that of the one before")
	fl.Float64Var(&f.rate, "rate", 3, "mean of new leases a second in each region that a file is scaled to")
	fl.IntVar(&f.days, "days", 0, "how many days of the files are used (default: what all have; made up: 4)")
	fl.Float64Var(&f.stock, "stock", 1.3, "resources, by the most that is leased at a time on average")
	fl.Uint64Var(&f.seed, "seed", 1, "of the arrivals")
	fl.StringVar(&f.svg, "svg", "", "file for a picture of it")
	return c
}

// curves reads the files, or makes demand up.
func (f *backtestFlags) curves(args []string) ([]backtest.Curve, error) {
	if f.days < 0 || f.days > 366 || !(f.rate > 0 && f.rate <= 10_000) {
		return nil, cli.UsageError(fmt.Sprintf("--days %d or --rate %g is out of range", f.days, f.rate), "use 0 to 366 days and more than 0 to 10000 leases a second")
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
			return nil, cli.UsageError(arg+" is no region and file", "write REGION=FILE")
		}
		file, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, cli.Fail(cli.ExitIO, "cannot open "+name, err, "check the path")
		}
		curves[i], err = backtest.Read(region, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, cli.Fail(cli.ExitData, "cannot read "+name, err, "write it as `weir balancer backtest --help` says")
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

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(filepath.Clean(name))
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// named makes of a table with a first line of names a list of rows by name.
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

// writeColumns writes a table, the first column to the left and the others to the right.
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
