package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/internal/loadgen"
)

func newBenchCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "bench", Short: "Measures weir on your brokers"}
	c.AddCommand(newBenchSpendCmd(a), newBenchRestoreCmd(a), newBenchGrowthCmd(a), newBenchScaleCmd(a), newBenchRestartCmd(a), newBenchLatencyCmd(a), newBenchAllCmd(a), newBenchProcessCmd(a))
	return c
}

// benchSpend is what `weir bench spend` is asked for.
type benchSpend struct {
	events    int64
	campaigns int
	rounds    int
	zipf      float64
	interval  time.Duration
	behind    time.Duration
	workers   int
	profile   string
}

// benchRow is one line of its answer: medians over the rounds.
type benchRow struct {
	Log         string  `json:"log" table:"wide"` // the topic
	Keys        string  `json:"keys"`
	Commit      string  `json:"commit"`
	Rounds      int     `json:"rounds"`
	Bare        int64   `json:"bare_per_second"`
	ExactlyOnce int64   `json:"exactly_once_per_second"`
	Min         int64   `json:"exactly_once_min"  table:"wide"`
	Max         int64   `json:"exactly_once_max"  table:"wide"`
	Ratio       float64 `json:"ratio"`
	RatioMin    float64 `json:"ratio_min"`
	RatioMax    float64 `json:"ratio_max"`
}

func newBenchSpendCmd(a *app) *cobra.Command {
	var b benchSpend
	c := &cobra.Command{
		Use:   "spend",
		Short: "Counts a log of events exactly once, and reads the same log with a bare consumer, in turn",
		Long: "Fills a topic (kept for the next run), then in turns reads it with a bare read_committed group consumer and counts\n" +
			"it exactly once into a fresh store. The first quarter of each run is not timed. Prints medians; the ratio is taken\n" +
			"round by round. The topics begin with weir.bench.",
		Example: "  weir bench spend --brokers 127.0.0.1:9092 --rounds 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(a)
			if err != nil {
				return err
			}
			var rows []benchRow
			for _, zipf := range b.spread() {
				row, err := b.run(cmd.Context(), e, zipf)
				if err != nil {
					return fail(0, "the benchmark did not end", err, "it needs brokers with transactions, see `weir doctor`")
				}
				rows = append(rows, row)
			}
			return printRows(a, rows)
		},
	}
	f := c.Flags()
	f.Int64Var(&b.events, "events", 20_000_000, "events in the log")
	f.IntVar(&b.campaigns, "campaigns", 100_000, "campaigns")
	f.IntVar(&b.rounds, "rounds", 3, "rounds of both readers")
	f.Float64Var(&b.zipf, "zipf", 0, "Zipf exponent of the campaigns; -1 is evenly (default: both evenly and 1.1)")
	f.DurationVar(&b.interval, "commit-interval", 100*time.Millisecond, "time between commits when caught up")
	f.DurationVar(&b.behind, "commit-interval-max", time.Second, "time between commits when behind")
	f.StringVar(&b.profile, "cpu-profile", "", "file for a CPU profile of the counting, for go tool pprof; the last round's stays")
	f.IntVar(&b.workers, "workers", 0, "sessions (default: as many as cores, at least 4)")
	return c
}

func (b *benchSpend) spread() []float64 {
	if b.zipf == 0 {
		return []float64{loadgen.Even, 1.1}
	}
	return []float64{b.zipf}
}

func (b *benchSpend) run(ctx context.Context, e *benchEnv, zipf float64) (benchRow, error) {
	log := benchLog{events: b.events, campaigns: b.campaigns, zipf: zipf}
	row := benchRow{Log: log.topic(), Keys: log.keys(), Commit: fmt.Sprintf("%s..%s", b.interval, b.behind), Rounds: b.rounds}
	if err := log.fill(ctx, e); err != nil {
		return row, err
	}
	proc, err := benchCounter(log.topic(), e.memory)
	if err != nil {
		return row, err
	}
	cfg := e.config()
	cfg.Workers, cfg.CommitInterval, cfg.CommitMax = b.workers, b.interval, b.behind
	var bares, folds, ratios []float64
	for round := range b.rounds {
		bare, err := broker.BareConsumer(ctx, e.kafka, log.topic(), b.events)
		if err != nil {
			return row, err
		}
		stop, err := startProfile(b.profile)
		if err != nil {
			return row, err
		}
		fold, err := broker.Fold(ctx, cfg, proc, b.events/4, b.events)
		if err = errors.Join(err, stop()); err != nil {
			return row, err
		}
		e.notef("%s round %d: bare %.2f M/s, exactly once %.2f M/s, ratio %.2f", row.Keys, round+1, bare.PerSec/1e6, fold.PerSec/1e6, fold.PerSec/bare.PerSec)
		bares, folds, ratios = append(bares, bare.PerSec), append(folds, fold.PerSec), append(ratios, fold.PerSec/bare.PerSec)
	}
	row.Bare, row.ExactlyOnce, row.Ratio = int64(median(bares)), int64(median(folds)), hundredths(median(ratios))
	row.Min, row.Max = int64(slices.Min(folds)), int64(slices.Max(folds))
	row.RatioMin, row.RatioMax = hundredths(slices.Min(ratios)), hundredths(slices.Max(ratios))
	return row, nil
}

// startProfile begins the CPU profile, if one is wanted, and returns what ends it.
func startProfile(file string) (stop func() error, err error) {
	if file == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

func hundredths(x float64) float64 { return math.Round(100*x) / 100 }

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}
