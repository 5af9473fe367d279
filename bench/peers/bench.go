package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/bench/peers/figures"
	"github.com/weirhq/weir/bench/peers/totals"
	"github.com/weirhq/weir/events/loadgen"
)

// bench is one comparison.
type bench struct {
	programs
	events    int64
	campaigns int
	rounds    int
	even      bool     // only evenly distributed campaigns
	systems   []string // names of the peers

	peers   []peer
	samples []sample
	missing []figures.Missing
}

// peer is a system that weir is compared with.
type peer struct {
	system  string
	build   func(context.Context) error
	run     func(context.Context, job) (answer, error)
	commits []time.Duration // at which it runs
}

// job is one run: a log and a commit interval.
type job struct {
	log    string
	commit time.Duration
}

const often, seldom = 100 * time.Millisecond, time.Second

// all returns the peers. goka commits offsets independently of its writes, so it runs at the longer
// interval only.
func (p *programs) all() []peer {
	return []peer{
		{streams, p.buildStreams, p.streams, []time.Duration{often, seldom}},
		{goka, p.buildGoka, p.goka, []time.Duration{seldom}},
	}
}

// run measures all systems and returns the report, with an error if the report is incomplete. A
// peer that cannot be built here is left out, as long as there is another peer.
func (b *bench) run(ctx context.Context) (*report, error) {
	if err := b.buildWeir(ctx); err != nil {
		return &report{}, fmt.Errorf("weir's build failed: %w", err)
	}
	b.missing = []figures.Missing{} // JSON gets an empty list, not null
	for _, p := range b.all() {
		if !slices.Contains(b.systems, p.system) {
			continue
		}
		if err := p.build(ctx); err != nil {
			b.miss(p.system, err)
			continue
		}
		b.peers = append(b.peers, p)
	}
	if len(b.peers) == 0 {
		return &report{}, errors.New("no peer could be built: install Java 17 and Maven, or give access to Go modules")
	}
	unbuilt := len(b.missing)
	err := b.measure(ctx)
	if n := len(b.missing) - unbuilt; n > 0 {
		err = errors.Join(err, fmt.Errorf("%d runs of peers have no figure", n))
	}
	return &report{Events: b.events, Rows: tabulate(b.samples), Missing: b.missing}, err
}

// miss records a run or a system without a figure.
func (b *bench) miss(what string, why error) {
	b.missing = append(b.missing, figures.Missing{What: what, Why: why.Error()})
	fmt.Fprintf(b.Log, "%s: %v: not measured\n", what, why)
}

// measure runs the systems in turn, on evenly distributed campaigns and on a Zipf distribution
// unless even is set.
func (b *bench) measure(ctx context.Context) error {
	for _, zipf := range []float64{loadgen.Even, 1.1} {
		if b.even && zipf != loadgen.Even {
			continue
		}
		want, err := holds(ctx, loadgen.BenchConfig{Campaigns: b.campaigns, Zipf: zipf}, b.events)
		if err != nil {
			return err
		}
		for round := range b.rounds {
			for _, commit := range []time.Duration{often, seldom} {
				if err := b.turn(ctx, sample{round: round, commit: commit}, zipf, want); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// turn runs each system once, with the round and interval of s. The run of a peer that fails, or
// whose totals differ from want, has no figure; the other systems run nevertheless.
func (b *bench) turn(ctx context.Context, s sample, zipf float64, want totals.Totals) error {
	own, err := b.weir(ctx, s.commit, "--events", fmt.Sprint(b.events), "--campaigns", fmt.Sprint(b.campaigns), "--zipf", fmt.Sprint(zipf))
	if err != nil {
		return err
	}
	s.keys = own.Keys
	b.note(s, weir, own.PerSecond, own.Peak)
	b.note(s, bare, own.Bare, 0)
	for _, p := range b.peers {
		if !slices.Contains(p.commits, s.commit) {
			continue
		}
		a, err := p.run(ctx, job{own.Log, s.commit})
		if err == nil && a.Totals != want {
			err = fmt.Errorf("counted %+v of topic %s, which should hold %+v (delete the topic if another version of weir filled it)",
				a.Totals, own.Log, want)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			b.miss(fmt.Sprintf("%s, %s, %s, round %d", p.system, s.keys, s.commit, s.round+1), err)
			continue
		}
		b.note(s, p.system, a.PerSecond, a.Peak)
	}
	return nil
}

func (b *bench) note(s sample, system string, perSecond float64, peak int64) {
	s.system, s.perSecond, s.peak = system, perSecond, peak
	b.samples = append(b.samples, s)
	fmt.Fprintf(b.Log, "%s, %s, round %d: %s %.3f M/s, %s GiB\n", s.keys, s.commit, s.round+1, system, perSecond/1e6, figures.GiB(peak))
}
