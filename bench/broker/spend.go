package broker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/weirhq/weir/events/loadgen"
)

// SpendBench configures the benchmark of the spend counter (`weir bench spend`).
type SpendBench struct {
	Events            int64
	Campaigns         int
	Rounds            int
	Zipf              float64
	CommitInterval    time.Duration
	CommitIntervalMax time.Duration
	Workers           int
	Profile           string
}

// SpendRow is one line of its result: medians over the rounds.
type SpendRow struct {
	Log         string  `json:"log" table:"wide"` // topic of the events
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

// Spread returns the Zipf exponents to measure; -1 draws campaigns evenly.
func (b *SpendBench) Spread() []float64 {
	if b.Zipf == 0 {
		return []float64{loadgen.Even, 1.1}
	}
	return []float64{b.Zipf}
}

// Run measures one distribution of campaigns: the exactly-once count, and a bare consumer beside
// it.
func (b *SpendBench) Run(ctx context.Context, e *Env, zipf float64) (SpendRow, error) {
	log := Log{Events: b.Events, Campaigns: b.Campaigns, Zipf: zipf}
	row := SpendRow{
		Log: log.topic(), Keys: log.keys(), Commit: fmt.Sprintf("%s..%s", b.CommitInterval, b.CommitIntervalMax), Rounds: b.Rounds,
	}
	if err := log.Fill(ctx, e); err != nil {
		return row, err
	}
	proc, err := benchCounter(log.topic(), e.Memory)
	if err != nil {
		return row, err
	}
	cfg := e.config()
	cfg.Workers, cfg.CommitInterval, cfg.CommitIntervalMax = b.Workers, b.CommitInterval, b.CommitIntervalMax
	err = warmUp(func() (float64, error) {
		bare, err := BareConsumer(ctx, e.Kafka, log.topic(), b.Events)
		return bare.PerSec, err
	}, e.Notef)
	if err != nil {
		return row, err
	}
	var bares, folds, ratios []float64
	for round := range b.Rounds {
		bare, err := BareConsumer(ctx, e.Kafka, log.topic(), b.Events)
		if err != nil {
			return row, err
		}
		stop, err := startProfile(b.Profile)
		if err != nil {
			return row, err
		}
		fold, err := Fold(ctx, cfg, proc, b.Events/4, b.Events)
		if err = errors.Join(err, stop()); err != nil {
			return row, err
		}
		e.Notef("%s round %d: bare %.2f M/s, exactly once %.2f M/s, ratio %.2f", row.Keys, round+1, bare.PerSec/1e6, fold.PerSec/1e6,
			fold.PerSec/bare.PerSec)
		bares, folds, ratios = append(bares, bare.PerSec), append(folds, fold.PerSec), append(ratios, fold.PerSec/bare.PerSec)
	}
	row.Bare, row.ExactlyOnce, row.Ratio = int64(median(bares)), int64(median(folds)), hundredths(median(ratios))
	row.Min, row.Max = int64(slices.Min(folds)), int64(slices.Max(folds))
	row.RatioMin, row.RatioMax = hundredths(slices.Min(ratios)), hundredths(slices.Max(ratios))
	return row, nil
}

// startProfile starts a CPU profile if file is not empty. The returned function ends it.
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
