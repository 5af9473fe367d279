package main

import (
	"errors"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/processors/benchmark"
)

// restoreRow is the answer of `weir bench restore`: medians over the rounds.
type restoreRow struct {
	Keys    int64   `json:"keys"`
	Rounds  int     `json:"rounds"`
	PerSec  int64   `json:"keys_per_second"`
	Min     int64   `json:"keys_per_second_min"`
	Max     int64   `json:"keys_per_second_max"`
	Seconds float64 `json:"seconds"`
}

func newBenchRestoreCmd(a *app) *cobra.Command {
	var keys int64
	var rounds int
	var profile string
	c := &cobra.Command{
		Use:   "restore",
		Short: "Rebuilds state from a changelog on an empty disk",
		Long: "Fills a changelog (kept for the next run) with keys of 16 bytes and values of 100, then rebuilds it into a fresh store.\n" +
			"Timed from the start of the processor until its last partition could fold. The topics begin with weir.bench.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, k, err := a.cluster()
			if err != nil {
				return err
			}
			debug.SetGCPercent(gcPercent)
			a.say("changelog of %d keys", keys)
			topic, err := benchmark.LoadChangelog(cmd.Context(), k, keys)
			if err != nil {
				return fail(0, "the changelog was not filled", err, "see `weir doctor`")
			}
			row := restoreRow{Keys: keys, Rounds: rounds}
			var rates, seconds []float64
			for i := range rounds {
				stop, err := startProfile(profile)
				if err != nil {
					return err
				}
				r, err := benchmark.Restore(cmd.Context(), benchConfig(k, int64(cfg.Memory)), topic, keys)
				if err = errors.Join(err, stop()); err != nil {
					return fail(0, "the benchmark did not end", err, "see `weir doctor`")
				}
				a.say("round %d: %.2f s, %.2f M keys/s", i+1, r.Took.Seconds(), r.PerSec/1e6)
				rates, seconds = append(rates, r.PerSec), append(seconds, r.Took.Seconds())
			}
			row.PerSec, row.Min, row.Max, row.Seconds = int64(median(rates)), int64(slices.Min(rates)), int64(slices.Max(rates)), hundredths(median(seconds))
			return printRows(a, []restoreRow{row})
		},
	}
	c.Flags().Int64Var(&keys, "keys", 1_000_000, "keys in the changelog")
	c.Flags().IntVar(&rounds, "rounds", 3, "rounds")
	c.Flags().StringVar(&profile, "cpu-profile", "", "file for a CPU profile, for go tool pprof; the last round's stays")
	return c
}
