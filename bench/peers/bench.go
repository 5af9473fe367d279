package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/internal/loadgen"
)

// bench is one comparison.
type bench struct {
	programs
	events    int64
	campaigns int
	rounds    int

	noStreams, noGoka error // why a peer cannot be measured
	samples           []sample
}

// run measures all systems and reports what it has, with an error if that is not all it should have.
func (b *bench) run(ctx context.Context) (*report, error) {
	r := &report{Events: b.events, Missing: []missing{}}
	if err := b.buildWeir(ctx); err != nil {
		return r, fmt.Errorf("weir's build failed: %w", err)
	}
	b.noStreams, b.noGoka = b.buildStreams(ctx), b.buildGoka(ctx)
	for _, m := range []struct {
		system string
		why    error
	}{{streams, b.noStreams}, {goka, b.noGoka}} {
		if m.why != nil {
			r.Missing = append(r.Missing, missing{m.system, m.why.Error()})
			fmt.Fprintf(b.talk, "%s: %v: not measured\n", m.system, m.why)
		}
	}
	if b.noStreams != nil && b.noGoka != nil {
		return r, errors.New("there is no peer to compare weir with")
	}
	err := b.measure(ctx)
	r.Rows = tabulate(b.samples)
	return r, err
}

// measure runs the systems in turns, on campaigns that get the same traffic and on a Zipf distribution.
func (b *bench) measure(ctx context.Context) error {
	for _, zipf := range []float64{loadgen.Even, 1.1} {
		want, err := holds(ctx, loadgen.BenchConfig{Campaigns: b.campaigns, Zipf: zipf}, b.events)
		if err != nil {
			return err
		}
		for round := range b.rounds {
			if err := b.round(ctx, round, zipf, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// round runs each system once at each interval. goka, whose offsets follow its writes at leisure, runs at the longer one.
func (b *bench) round(ctx context.Context, round int, zipf float64, want totals.Totals) error {
	for _, commit := range []time.Duration{100 * time.Millisecond, time.Second} {
		own, err := b.weir(ctx, commit, "--events", fmt.Sprint(b.events), "--campaigns", fmt.Sprint(b.campaigns), "--zipf", fmt.Sprint(zipf))
		if err != nil {
			return err
		}
		note := func(system string, perSecond float64) {
			b.samples = append(b.samples, sample{keys: own.Keys, commit: commit, round: round, system: system, perSecond: perSecond})
			fmt.Fprintf(b.talk, "%s, %s, round %d: %s %.3f M/s\n", own.Keys, commit, round+1, system, perSecond/1e6)
		}
		note(weir, own.PerSecond)
		note(bare, own.Bare)
		j := job{log: own.Log, commit: commit}
		for _, peer := range []struct {
			system string
			run    func(context.Context, job) (answer, error)
			skip   bool
		}{{streams, b.streams, b.noStreams != nil}, {goka, b.goka, b.noGoka != nil || commit < time.Second}} {
			if peer.skip {
				continue
			}
			a, err := peer.run(ctx, j)
			if err != nil {
				return err
			}
			if a.Totals != want {
				return fmt.Errorf("%s counted %+v of topic %s, which should hold %+v: its figure does not stand; if another version of weir filled the topic, delete it",
					peer.system, a.Totals, j.log, want)
			}
			note(peer.system, a.PerSecond)
		}
	}
	return nil
}
