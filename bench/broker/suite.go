package broker

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/events/loadgen"
)

// All runs every benchmark. After an error it returns the figures measured so far.
func (s *Suite) All(ctx context.Context, e *Env, keys int64) (rows []Figure, err error) {
	for _, part := range []func() ([]Figure, error){
		func() ([]Figure, error) { return s.spend(ctx, e) },
		func() ([]Figure, error) {
			g := &Suite{Log: Log{Events: 2 * s.Log.Events, Zipf: loadgen.Even, Active: 10_000}, Rounds: s.Rounds}
			return withGoal("ratio > 0.75", g.Growth)(ctx, e)
		},
		func() ([]Figure, error) {
			p := &Suite{Log: Log{Events: s.Log.Events, Campaigns: s.Log.Campaigns, Zipf: loadgen.Even}, Rounds: s.Rounds}
			return withGoal("ratio >= 0.85", p.Scale)(ctx, e)
		},
		func() ([]Figure, error) {
			b := &LatencyBench{Capacity: 8 * time.Second, Measure: 15 * time.Second, Share: 0.7}
			return withGoal("p50 <= 0.3, p99 <= 1", func(ctx context.Context, e *Env) ([]Figure, error) {
				return b.Rows(ctx, e, s.Rounds)
			})(ctx, e)
		},
		func() ([]Figure, error) { return s.Downtime(ctx, e, keys) },
		func() ([]Figure, error) {
			return (&RestoreBench{Keys: keys / 5, Rounds: s.Rounds}).Rows(ctx, e)
		},
		func() ([]Figure, error) {
			b := NewJobsBench()
			b.Rounds, b.Duration, b.Idle = s.Rounds, 10*time.Second, 10*time.Second
			return b.Rows(ctx, e)
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

// spend compares the exactly-once count with a bare consumer, with adaptive commits and with
// commits every 100 ms.
func (s *Suite) spend(ctx context.Context, e *Env) (rows []Figure, err error) {
	for _, interval := range []time.Duration{time.Second, 100 * time.Millisecond} {
		for _, zipf := range []float64{loadgen.Even, 1.1} {
			b := SpendBench{
				Events: s.Log.Events, Campaigns: s.Log.Campaigns, Rounds: s.Rounds, CommitInterval: 100 * time.Millisecond,
				CommitIntervalMax: interval,
			}
			r, err := b.Run(ctx, e, zipf)
			if err != nil {
				return nil, err
			}
			goal := "ratio >= 0.7"
			if interval < time.Second {
				goal = "ratio >= 0.5"
			}
			rows = append(rows, Figure{
				What: fmt.Sprintf("exactly once / bare, %s, commits %s", r.Keys, r.Commit), Unit: "events/s",
				Median: float64(r.ExactlyOnce), Min: float64(r.Min), Max: float64(r.Max), Ratio: r.Ratio, Goal: goal,
			})
		}
	}
	return rows, nil
}

// withGoal adds a goal to the figures of a part.
func withGoal(goal string, part func(context.Context, *Env) ([]Figure, error)) func(context.Context, *Env) ([]Figure, error) {
	return func(ctx context.Context, e *Env) ([]Figure, error) {
		rows, err := part(ctx, e)
		for i := range rows {
			rows[i].Goal = goal
		}
		return rows, err
	}
}

// Downtime measures how long partitions are not served after kill -9.
func (s *Suite) Downtime(ctx context.Context, e *Env, keys int64) (rows []Figure, err error) {
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
	return []Figure{big, warm, cold}, err
}
