package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/internal/loadgen"
)

// newBenchAllCmd is the whole table. What it takes on two cores is an hour.
func newBenchAllCmd(a *app) *cobra.Command {
	s := &several{log: benchLog{events: 20_000_000, campaigns: 100_000}}
	var keys int64
	c := figures{a, s}.command("all", "Prints one table of everything that can be measured here", func(ctx context.Context, e *benchEnv) ([]figure, error) {
		rows, err := s.all(ctx, e, keys)
		if err != nil {
			return nil, errors.Join(err, printRows(a, rows))
		}
		return rows, nil
	})
	c.Flags().Int64Var(&keys, "keys", 10_000_000, "keys on the disk of a process that is restarted; a fifth of them is rebuilt from an empty disk")
	return c
}

// all runs every benchmark. On an error it returns the figures so far.
func (s *several) all(ctx context.Context, e *benchEnv, keys int64) (rows []figure, err error) {
	for _, part := range []func() ([]figure, error){
		func() ([]figure, error) { return s.spend(ctx, e) },
		func() ([]figure, error) {
			g := &several{log: benchLog{events: 2 * s.log.events, zipf: loadgen.Even, active: 10_000}, rounds: s.rounds}
			return withGoal("ratio > 0.75", g.growth)(ctx, e)
		},
		func() ([]figure, error) {
			p := &several{log: benchLog{events: s.log.events, campaigns: s.log.campaigns, zipf: loadgen.Even}, rounds: s.rounds}
			return withGoal("ratio >= 0.85", p.scale)(ctx, e)
		},
		func() ([]figure, error) {
			b := &benchLatency{load: 8 * time.Second, times: 15 * time.Second, share: 0.7}
			return withGoal("p50 <= 0.3, p99 <= 1", func(ctx context.Context, e *benchEnv) ([]figure, error) {
				return b.rows(ctx, e, s.rounds)
			})(ctx, e)
		},
		func() ([]figure, error) { return s.away(ctx, e, keys) },
		func() ([]figure, error) {
			return (&benchRestore{keys: keys / 5, rounds: s.rounds}).rows(ctx, e)
		},
	} {
		more, err := part()
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// spend is the count against a bare consumer: behind, and at a fixed 100 ms.
func (s *several) spend(ctx context.Context, e *benchEnv) (rows []figure, err error) {
	for _, interval := range []time.Duration{time.Second, 100 * time.Millisecond} {
		for _, zipf := range []float64{loadgen.Even, 1.1} {
			b := benchSpend{events: s.log.events, campaigns: s.log.campaigns, rounds: s.rounds, interval: 100 * time.Millisecond, behind: interval}
			r, err := b.run(ctx, e, zipf)
			if err != nil {
				return nil, err
			}
			goal := "ratio >= 0.7"
			if interval < time.Second {
				goal = "ratio >= 0.5"
			}
			rows = append(rows, figure{
				What: fmt.Sprintf("exactly once / bare, %s, commits %s", r.Keys, r.Commit), Unit: "events/s",
				Median: float64(r.ExactlyOnce), Min: float64(r.Min), Max: float64(r.Max), Ratio: r.Ratio, Goal: goal,
			})
		}
	}
	return rows, nil
}

// withGoal says what a part is measured against.
func withGoal(goal string, part func(context.Context, *benchEnv) ([]figure, error)) func(context.Context, *benchEnv) ([]figure, error) {
	return func(ctx context.Context, e *benchEnv) ([]figure, error) {
		rows, err := part(ctx, e)
		for i := range rows {
			rows[i].Goal = goal
		}
		return rows, err
	}
}

// away is how long partitions are away after kill -9.
func (s *several) away(ctx context.Context, e *benchEnv, keys int64) (rows []figure, err error) {
	big, err := s.restart(ctx, e, keys)
	if err != nil {
		return nil, err
	}
	big.Goal = "<= 1"
	warm, err := s.takeover(ctx, e, 1)
	if err != nil {
		return nil, err
	}
	warm.Goal = "<= 8"
	cold, err := s.takeover(ctx, e, 0)
	cold.Goal = "<= 15"
	return []figure{big, warm, cold}, err
}
