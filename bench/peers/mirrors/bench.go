package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/bench/peers/child"
	"github.com/weirhq/weir/bench/peers/figures"
	"github.com/weirhq/weir/processors/kafka"
)

// Values of -measure.
const (
	partRate    = "rate"
	partKills   = "kills"
	partLatency = "latency"
)

func allParts() []string { return []string{partRate, partKills, partLatency} }

// bench is one comparison.
type bench struct {
	child.Runner
	root, scratch    string // directories of the repository, and of what is removed after the run
	source, target   *cluster
	events, rate     int64
	rounds, kills    int
	warmup, duration time.Duration
	tasks            int
	memory, jvm      string
	parts, systems   []string
	properties       []string // of MirrorMaker, name=value
	settings         []string // of weir, as environment variables

	made     *error // result of the build of MirrorMaker, which is done once
	original *original
	report   report
}

// run measures all systems and returns the report, with an error if the report is incomplete or
// weir's copies differ from the original.
func (b *bench) run(ctx context.Context) (*report, error) {
	b.report = report{Events: b.events, Missing: []figures.Missing{}} // JSON gets an empty list, not null
	var list []system
	for _, s := range b.all() {
		if !slices.Contains(b.systems, s.flag) {
			continue
		}
		if err := s.build(ctx); err != nil {
			b.miss(s.name, err)
			continue
		}
		list = append(list, s)
	}
	unbuilt := len(b.report.Missing)
	if len(list) == 0 {
		return &b.report, errors.New("no system could be built, the reasons are above")
	}
	errs := []error{b.copies(ctx, list), b.latencies(ctx, list)}
	if n := len(b.report.Missing) - unbuilt; n > 0 {
		errs = append(errs, fmt.Errorf("%d runs have no figure", n))
	}
	errs = append(errs, b.report.check())
	return &b.report, errors.Join(errs...)
}

// miss records a run or a system without a figure.
func (b *bench) miss(what string, why error) {
	b.report.Missing = append(b.report.Missing, figures.Missing{What: what, Why: why.Error()})
	fmt.Fprintf(b.Log, "%s: %v: not measured\n", what, why)
}

// fill makes the full log unless the source has it, and reads it.
func (b *bench) fill(ctx context.Context) error {
	list, err := b.source.adm.ListTopics(kafka.Uncached(ctx), fullLog.topic())
	if err != nil {
		return err
	}
	if list.Has(fullLog.topic()) {
		ends, err := b.source.ends(ctx, fullLog.topic())
		if err != nil {
			return err
		}
		var have int64
		for _, end := range ends {
			have += end
		}
		if have != b.events { // another number was measured before
			if err := b.source.remove(ctx, fullLog.has); err != nil {
				return err
			}
		}
	}
	env := &broker.Env{Kafka: b.source.Cluster, Notef: func(format string, args ...any) { fmt.Fprintf(b.Log, format+"\n", args...) }}
	if err := (broker.Log{Name: fullLog.topic(), Events: b.events}).Fill(ctx, env); err != nil {
		return err
	}
	b.original = newOriginal(partitions)
	return b.source.scan(ctx, fullLog.topic(), b.original.add)
}

// turn calls f for each system in each round. Each round begins with another system.
func (b *bench) turn(ctx context.Context, list []system, f func(round int, s system) error) error {
	for round := range b.rounds {
		for i := range list {
			s := list[(round+i)%len(list)]
			err := f(round, s)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				b.miss(fmt.Sprintf("%s, round %d", s.name, round+1), err)
			}
		}
	}
	return nil
}

// copies measures the copies of the full log, without and with kills.
func (b *bench) copies(ctx context.Context, list []system) error {
	rate, kills := slices.Contains(b.parts, partRate), slices.Contains(b.parts, partKills)
	if !rate && !kills {
		return nil
	}
	if err := b.fill(ctx); err != nil {
		return fmt.Errorf("fill the log: %w", err)
	}
	return b.turn(ctx, list, func(round int, s system) error {
		for _, n := range []int{0, b.kills} {
			if n == 0 && !rate || n > 0 && !kills {
				continue
			}
			c, err := b.copyLog(ctx, s, n)
			if err != nil {
				return fmt.Errorf("copy with %d kills: %w", n, err)
			}
			fmt.Fprintf(b.Log, "round %d: %s, %d kills: %.3f M/s, %.1f s, %s GiB, %s\n",
				round+1, s.name, n, c.perSecond/1e6, c.seconds, figures.GiB(c.peak), c.differences)
			b.report.Copies = append(b.report.Copies, copyRun{round, s.name, n, c})
		}
		return nil
	})
}

// latencies measures the latency at the same rate of events for all systems.
func (b *bench) latencies(ctx context.Context, list []system) error {
	if !slices.Contains(b.parts, partLatency) {
		return nil
	}
	rate := b.rate
	if rate == 0 {
		rate = b.report.slowest() / 2
	}
	if rate == 0 {
		return errors.New("the rate for the latency is unknown: set -rate, or measure the rate, too")
	}
	b.report.Rate = rate
	return b.turn(ctx, list, func(round int, s system) error {
		l, err := b.latency(ctx, s, rate)
		if err != nil {
			return fmt.Errorf("latency: %w", err)
		}
		fmt.Fprintf(b.Log, "round %d: %s, %d events/s: p50 %.3f s, p99 %.3f s, max %.3f s, %s GiB\n",
			round+1, s.name, rate, l.p50, l.p99, l.max, figures.GiB(l.peak))
		b.report.Latencies = append(b.report.Latencies, latencyRun{round, s.name, l})
		return nil
	})
}
