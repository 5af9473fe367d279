package pacing

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/pacing/market"
)

// simulation is a controller on a day.
type simulation struct {
	Day         string  `json:"day"`
	Controller  string  `json:"controller"`
	Overspend   float64 `json:"overspend_percent"`
	Utilisation float64 `json:"utilisation_percent"`
	AvgErr      float64 `json:"avgerr_percent"`
	KS          float64 `json:"ks_percent"`
	Hours       float64 `json:"hours_to_95_percent"`
	Value       float64 `json:"value_per_unit"`
	Step        float64 `json:"step_percent" table:"wide"`
}

// maxMarkets bounds --seeds: a simulated day takes about half a second.
const maxMarkets = 1000

func newSimulateCmd(a *cli.App) *cobra.Command {
	markets, days, controllers := 5, []string{"ordinary"}, []string(nil)
	c := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate a day of auctions with each controller",
		Long: "Simulate a day of second-price auctions, in which 80 campaigns with budgets are paced by one\n" +
			"controller. Each row is the mean over --seeds markets. A controller with -flight in\n" +
			"its name knows the expected cost of the ads that were shown and not charged.\n\n" +
			"overspend and utilisation are shares of all budgets. avgerr is the deviation from the plan of the\n" +
			"day in slots of 15 minutes, ks the greatest distance between spend and plan, of the campaigns\n" +
			"whose budget is scarce. value_per_unit is what the ads of a unit of money were worth.\n\n" +
			"Days:\n" + describeDays(),
		Example: "  weir pacing simulate\n  weir pacing simulate --day blind,hold --controllers ratio-flight,pid-flight -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if markets < 1 || markets > maxMarkets {
				return cli.UsageError(fmt.Sprintf("--seeds %d is out of range", markets), fmt.Sprintf("use 1 to %d", maxMarkets))
			}
			of, err := choose("--day", days, market.Scenarios(), func(s market.Scenario) string { return s.Name })
			if err != nil {
				return err
			}
			with, err := choose("--controllers", controllers, market.Contenders(), func(c market.Contender) string { return c.Name })
			if err != nil {
				return err
			}
			rows, err := simulate(cmd.Context(), markets, of, with)
			if err != nil {
				return err
			}
			return cli.PrintRows(a, rows)
		},
	}
	cli.RefuseServer(c, "it simulates, and reads nothing of a process")
	f := c.Flags()
	f.IntVar(&markets, "seeds", markets, "number of markets, by seed from 1 on")
	f.StringSliceVar(&days, "day", days, "days; all: every one")
	f.StringSliceVar(&controllers, "controllers", nil, "controllers (default: all)")
	return c
}

// describeDays returns a line for each scenario.
func describeDays() string {
	var b strings.Builder
	for _, s := range market.Scenarios() {
		fmt.Fprintf(&b, "  %-10s%s\n", s.Name, s.Text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// choose returns the items of the names, in the order of list. Without names, or with all, it
// returns every one.
func choose[T any](flag string, names []string, list []T, name func(T) string) ([]T, error) {
	var known []string
	for _, item := range list {
		known = append(known, name(item))
	}
	if len(names) == 0 || slices.Equal(names, []string{"all"}) {
		return list, nil
	}
	for _, n := range names {
		if slices.Contains(known, n) {
			continue
		}
		do := "use some of: " + strings.Join(known, ", ")
		if near, ok := config.Nearest(n, known); ok {
			do = "did you mean " + near + "?"
		}
		return nil, cli.UsageError(fmt.Sprintf("%s: %q does not exist", flag, n), do)
	}
	return slices.DeleteFunc(list, func(item T) bool { return !slices.Contains(names, name(item)) }), nil
}

// simulate runs each controller on each day, on all processors.
func simulate(ctx context.Context, markets int, days []market.Scenario, with []market.Contender) ([]simulation, error) {
	list := make([]*market.Market, markets)
	rows := make([]simulation, len(days)*len(with))
	var work []func()
	for i := range list {
		work = append(work, func() { list[i] = market.New(uint64(i + 1)) })
	}
	if err := inParallel(ctx, work); err != nil {
		return nil, err
	}
	work = nil
	for i, day := range days {
		for j, c := range with {
			work = append(work, func() {
				r := market.Mean(list, c, day)
				rows[i*len(with)+j] = simulation{
					day.Name, c.Name, percent(r.Overspend), percent(r.Utilisation), percent(r.AvgErr), percent(r.KS),
					math.Round(10*r.Hours) / 10, math.Round(1000*r.Value) / 1000, percent(r.Step),
				}
			})
		}
	}
	return rows, inParallel(ctx, work)
}

// inParallel does all work, unless ctx ends.
func inParallel(ctx context.Context, work []func()) error {
	next := make(chan func())
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for do := range next {
				do()
			}
		})
	}
	defer workers.Wait()
	defer close(next)
	for _, do := range work {
		select {
		case next <- do:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// percent returns a share in percent, with three digits behind the point.
func percent(share float64) float64 { return math.Round(1e5*share) / 1e3 }
