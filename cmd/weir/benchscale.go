package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/internal/loadgen"
)

// figure is one line of an answer: the median of some rounds.
type figure struct {
	What   string  `json:"what"`
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Ratio  float64 `json:"ratio"` // to the first line
	Goal   string  `json:"goal"`
}

func newFigure(what, unit string, values []float64) figure {
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	return figure{What: what, Unit: unit, Median: hundredths(median(values)), Min: hundredths(least), Max: hundredths(most), Ratio: 1}
}

// ratios compares each line with the first.
func ratios(list []figure) []figure {
	for i := range list {
		list[i].Ratio = hundredths(list[i].Median / list[0].Median)
	}
	return list
}

// several are the flags that the benchmarks below share.
type several struct {
	log    benchLog
	rounds int
}

// newBenchGrowthCmd: what does state cost?
func newBenchGrowthCmd(a *app) *cobra.Command {
	s := &several{log: benchLog{events: 40_000_000, zipf: loadgen.Even, active: 10_000}}
	c := figures{a, s}.command("growth", "Counts the same events on top of 10 thousand, 1 and 10 million campaigns", func(ctx context.Context, e *benchEnv) ([]figure, error) {
		return s.growth(ctx, e)
	})
	c.Long = "The first quarter of each log makes the state, while the second the store comes to rest, the second half is timed. All but the\n" +
		"first quarters are of the same campaigns, so that nothing but the size of the state differs; with --active 0 they are of as\n" +
		"many as the first: then a transaction also has more rows to write."
	c.Flags().IntVar(&s.log.active, "active", s.log.active, "campaigns that the timed events are of; 0: all")
	return c
}

// growth times the second half of each log.
func (s *several) growth(ctx context.Context, e *benchEnv) ([]figure, error) {
	counts := []int{10_000, 1_000_000, 10_000_000}
	rates := make([][]float64, len(counts))
	for round := range s.rounds {
		for i, n := range counts {
			log := s.log
			log.campaigns = n
			if err := log.fill(ctx, e); err != nil {
				return nil, err
			}
			proc, err := benchCounter(log.topic(), e.memory)
			if err != nil {
				return nil, err
			}
			r, err := broker.Fold(ctx, e.config(), proc, log.events/2, log.events)
			if err != nil {
				return nil, err
			}
			e.notef("round %d: %s: %.2f M/s", round+1, log.keys(), r.PerSec/1e6)
			rates[i] = append(rates[i], r.PerSec)
		}
	}
	var rows []figure
	for i, n := range counts {
		log := s.log
		log.campaigns = n
		rows = append(rows, newFigure(log.keys()+" campaigns", "events/s", rates[i]))
	}
	return ratios(rows), nil
}

// newBenchScaleCmd: what do more processes cost?
func newBenchScaleCmd(a *app) *cobra.Command {
	s := &several{log: benchLog{events: 20_000_000, campaigns: 100_000, zipf: loadgen.Even}}
	return figures{a, s}.command("scale", "Counts one log with 1, 2 and 4 processes on this machine", func(ctx context.Context, e *benchEnv) ([]figure, error) {
		return s.scale(ctx, e)
	})
}

func (s *several) scale(ctx context.Context, e *benchEnv) ([]figure, error) {
	if err := s.log.fill(ctx, e); err != nil {
		return nil, err
	}
	names := []string{"1 process", "2 processes", "4 processes"}
	rates := make([][]float64, len(names))
	for round := range s.rounds {
		for i, name := range names {
			rate, err := s.shared(ctx, e.with(e.memory/int64(1<<i)), 1<<i)
			if err != nil {
				return nil, err
			}
			e.notef("round %d: %s: %.2f M/s", round+1, name, rate/1e6)
			rates[i] = append(rates[i], rate)
		}
	}
	var rows []figure
	for i, name := range names {
		rows = append(rows, newFigure(name, "events/s", rates[i]))
	}
	return ratios(rows), nil
}

// shared counts the log with n processes and times all but the first quarter.
func (s *several) shared(ctx context.Context, e *benchEnv, n int) (rate float64, err error) {
	c, err := newCrew(ctx, e, s.log.topic())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	for i := range n {
		if err := c.start(i, 0); err != nil {
			return 0, err
		}
	}
	var from int64
	began, err := c.group.Await(ctx, func(next map[int32]int64) bool {
		from = broker.Sum(next)
		return from >= s.log.events/4
	})
	if err != nil {
		return 0, err
	}
	ended, err := c.group.Await(ctx, broker.Total(s.log.events))
	return float64(s.log.events-from) / ended.Sub(began).Seconds(), err
}
