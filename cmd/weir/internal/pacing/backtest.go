package pacing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/backtest"
)

// backtested is a controller on recorded days.
type backtested struct {
	Controller  string   `json:"controller"`
	Overspend   float64  `json:"overspend_percent"`
	Utilisation float64  `json:"utilisation_percent"`
	AvgErr      float64  `json:"avgerr_percent"`
	KS          float64  `json:"ks_percent"`
	Value       *float64 `json:"value_per_unit,omitempty"`
	Step        float64  `json:"step_percent" table:"wide"`
}

// backtestRun is a run of `weir pacing backtest`.
type backtestRun struct {
	a           *cli.App
	in          recordingFile
	cfg         backtest.Config
	budget, svg string
	controllers []string
}

func newBacktestCmd(a *cli.App) *cobra.Command {
	r := backtestRun{a: a, in: recordingFile{a: a, unit: "major", tz: "UTC"}, budget: "50%"}
	c := &cobra.Command{
		Use:   "backtest FILE|-",
		Short: "Pace recorded spend again with each controller",
		Long: "Pace recorded spend again with each controller. FILE is a CSV with a header, plain or compressed by\n" +
			"gzip or zstd: a row has a time, a campaign, and what was spent from the time on for one --slot.\n\n" +
			"The recorded spend of a slot is taken as what the campaign could have spent in it. Controllers lower\n" +
			"it by a probability, so that the budget of each campaign day, by default half of what was recorded,\n" +
			"follows a plan. The plan is learnt from the earlier days of the file. A day is from the first to the\n" +
			"last row of the campaign on it: a campaign without rows in the evening has often spent its budget,\n" +
			"and what it could have spent is not recorded. --whole-days takes missing rows for no traffic.\n\n" +
			"overspend and utilisation are shares of all budgets. avgerr is the deviation from the plan in slots\n" +
			"of 15 minutes, ks the greatest distance between spend and plan, of campaign days on which more than\n" +
			"1.2 times the budget could be spent. value_per_unit is the value, such as clicks, for one unit of\n" +
			"money. The row `" + backtest.Best + "` is not a controller: it knows the recorded spend beforehand.\n\n" +
			"A file with rejected rows is refused, unless --max-rejects allows them.",
		Example: "  weir pacing backtest spend.csv.gz --map time=bin_start,campaign=cid,spend=cost,value=clicks --tz Asia/Shanghai\n" +
			"  weir pacing backtest spend.csv --budget 80% --controllers ratio,pid --svg spend.svg -o json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.in.name = args[0]
			return r.run(cmd.Context())
		},
	}
	cli.RefuseServer(c, "it reads a file, and nothing of a process")
	f := c.Flags()
	r.in.add(f)
	f.StringVar(&r.budget, "budget", r.budget, "budget of a campaign day: a share of what was recorded, or an amount in --spend-unit")
	f.DurationVar(&r.cfg.Slot, "slot", 5*time.Minute, "time for which a row is recorded")
	f.BoolVar(&r.cfg.WholeDays, "whole-days", false, "take missing rows of a day, within the flight of the campaign, for no traffic")
	f.StringSliceVar(&r.controllers, "controllers", nil, "controllers (default: all)")
	f.StringVar(&r.svg, "svg", "", "file for a picture of planned and actual spend")
	return c
}

func (r *backtestRun) run(ctx context.Context) error {
	with, err := choose("--controllers", r.controllers, backtest.Contenders(), func(c backtest.Contender) string { return c.Name })
	if err != nil {
		return err
	}
	if err := r.parseBudget(); err != nil {
		return err
	}
	if r.cfg.Location, err = time.LoadLocation(r.in.tz); err != nil || r.in.tz == "Local" {
		return cli.UsageError(fmt.Sprintf("--tz: unknown time zone %q", r.in.tz), "use an IANA name such as UTC or Asia/Shanghai")
	}
	if r.cfg.Slot < 10*time.Second || r.cfg.Slot%(10*time.Second) != 0 || 24*time.Hour%r.cfg.Slot != 0 {
		return cli.UsageError(fmt.Sprintf("--slot %s is out of range", r.cfg.Slot),
			"use a multiple of 10s that divides a day, such as 5m or 1h")
	}
	recording, err := r.in.read(ctx)
	if err != nil {
		return err
	}
	days, err := recording.Days(r.cfg)
	if err != nil {
		return cli.Fail(cli.ExitData, "cannot pace this recording", withoutName(err), "give the time between two rows by --slot")
	}
	if len(days) == 0 {
		return cli.Fail(cli.ExitData, "cannot pace this recording", errors.New("no row has a spend above 0"),
			"check the column of --map spend=...")
	}
	results := make([]backtest.Result, len(with))
	var work []func()
	for i, c := range with {
		work = append(work, func() { results[i] = backtest.Run(days, c) })
	}
	if err := inParallel(ctx, work); err != nil {
		return err
	}
	r.note(recording, days, results)
	if r.svg != "" {
		err := cli.WriteFile(r.svg, func(w io.Writer) error { return backtest.SVG(w, days, results, r.cfg.Location) })
		if err != nil {
			return cli.Fail(cli.ExitIO, "cannot write the picture", err, "check the path of --svg")
		}
		r.a.Notef("wrote %s", r.svg)
	}
	return cli.PrintRows(r.a, r.rows(results))
}

// parseBudget parses --budget.
func (r *backtestRun) parseBudget() error {
	unit, err := events.ParsePriceUnit(r.in.unit)
	if err != nil {
		return cli.UsageError("--spend-unit: "+err.Error(), "the default, major, fits an amount in dollars")
	}
	wrong := cli.UsageError(fmt.Sprintf("--budget %q is neither a share nor an amount above 0", r.budget),
		"write --budget 50% or --budget 120.50")
	if number, ok := strings.CutSuffix(r.budget, "%"); ok {
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !(percent > 0 && percent <= 10_000) {
			return wrong
		}
		r.cfg.BudgetShare = percent / 100
		return nil
	}
	micros, err := unit.Micros(r.budget)
	if err != nil || micros <= 0 || micros > events.MaxPriceMicros {
		return wrong
	}
	r.cfg.BudgetMicros = float64(micros)
	return nil
}

// note notes what was paced.
func (r *backtestRun) note(recording *backtest.Recording, days []backtest.Day, results []backtest.Result) {
	r.a.Notef("paced %d campaign days of %d campaigns", len(days), recording.Campaigns())
	if scarce := results[0].Scarce; scarce < len(days) {
		r.a.Notef("avgerr_percent and ks_percent are of the %d campaign days on which more than 1.2 times the budget could be spent", scarce)
	}
}

func (r *backtestRun) rows(results []backtest.Result) []backtested {
	rows := make([]backtested, len(results))
	for i, x := range results {
		rows[i] = backtested{
			Controller: x.Name, Overspend: percent(x.Overspend), Utilisation: percent(x.Utilisation), AvgErr: percent(x.AvgErr),
			KS: percent(x.KS), Step: percent(x.Step),
		}
		if r.in.hasValue() {
			digits := math.Pow10(4 - int(math.Ceil(math.Log10(max(x.Value, 1e-12)))))
			value := math.Round(x.Value*digits) / digits
			rows[i].Value = &value
		}
	}
	return rows
}

// withoutName returns an error without the name of the package that begins it.
func withoutName(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), backtest.ErrInput.Error()+": "))
}
