package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/bench/broker"
)

// benchRestore rebuilds state from an empty disk.
type benchRestore struct {
	keys    int64
	rounds  int
	profile string
}

func newBenchRestoreCmd(a *app) *cobra.Command {
	b, s := &benchRestore{}, &several{}
	c := figures{a, s}.command("restore", "Rebuilds state from a changelog on an empty disk", func(ctx context.Context, e *benchEnv) ([]figure, error) {
		b.rounds = s.rounds
		return b.rows(ctx, e)
	})
	c.Long = "Fills a changelog (kept for the next run) with keys of 16 bytes and values of 100, then rebuilds it into a fresh store.\n" +
		"Timed from the start of the processor until its last partition could fold. The topics begin with weir.bench."
	c.Flags().Int64Var(&b.keys, "keys", 1_000_000, "keys in the changelog")
	c.Flags().StringVar(&b.profile, "cpu-profile", "", "file for a CPU profile, for go tool pprof; the last round's stays")
	_, _ = c.Flags().MarkHidden("events"), c.Flags().MarkHidden("zipf")
	return c
}

func (b *benchRestore) rows(ctx context.Context, e *benchEnv) ([]figure, error) {
	e.notef("changelog of %d keys", b.keys)
	topic, err := broker.LoadChangelog(ctx, e.kafka, b.keys)
	if err != nil {
		return nil, err
	}
	var rates []float64
	for i := range b.rounds {
		stop, err := startProfile(b.profile)
		if err != nil {
			return nil, err
		}
		r, err := broker.Restore(ctx, e.config(), topic, b.keys)
		if err = errors.Join(err, stop()); err != nil {
			return nil, err
		}
		e.notef("round %d: %.2f s, %.2f M keys/s", i+1, r.Took.Seconds(), r.PerSec/1e6)
		rates = append(rates, r.PerSec)
	}
	f := newFigure(fmt.Sprintf("restore of %d keys from an empty disk", b.keys), "keys/s", rates)
	f.Goal = ">= 500,000"
	return []figure{f}, nil
}
