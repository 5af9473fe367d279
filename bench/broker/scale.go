package broker

import (
	"context"
	"errors"
)

// Figure is one line of a result: the median of the rounds.
type Figure struct {
	What   string  `json:"what"`
	Unit   string  `json:"unit"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	Ratio  float64 `json:"ratio"` // to the first line
	Goal   string  `json:"goal"`
}

func newFigure(what, unit string, values []float64) Figure {
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	return Figure{What: what, Unit: unit, Median: hundredths(median(values)), Min: hundredths(least), Max: hundredths(most), Ratio: 1}
}

// ratios sets the ratio of each line to the first.
func ratios(list []Figure) []Figure {
	for i := range list {
		list[i].Ratio = hundredths(list[i].Median / list[0].Median)
	}
	return list
}

// Suite holds the settings that several benchmarks share.
type Suite struct {
	Log    Log
	Rounds int
}

// compare measures each of some kinds in turn, in each round. rate returns the events per second of
// kind i. The figures have the ratios to the first kind.
func (s *Suite) compare(e *Env, names []string, rate func(i int) (float64, error)) ([]Figure, error) {
	rates := make([][]float64, len(names))
	for round := range s.Rounds {
		for i, name := range names {
			perSec, err := rate(i)
			if err != nil {
				return nil, err
			}
			e.Notef("round %d: %s: %.2f M/s", round+1, name, perSec/1e6)
			rates[i] = append(rates[i], perSec)
		}
	}
	var rows []Figure
	for i, name := range names {
		rows = append(rows, newFigure(name, "events/s", rates[i]))
	}
	return ratios(rows), nil
}

// Growth measures the second half of logs with more and more campaigns.
func (s *Suite) Growth(ctx context.Context, e *Env) ([]Figure, error) {
	var logs []foldedLog
	for _, n := range []int{10_000, 1_000_000, 10_000_000} {
		log := s.Log
		log.Campaigns = n
		logs = append(logs, foldedLog{log.keys() + " campaigns", log})
	}
	return s.folds(ctx, e, s.Log.Events/2, logs)
}

// Scale measures one, two and four processes that share the partitions.
func (s *Suite) Scale(ctx context.Context, e *Env) ([]Figure, error) {
	if err := s.Log.Fill(ctx, e); err != nil {
		return nil, err
	}
	return s.compare(e, []string{"1 process", "2 processes", "4 processes"}, func(i int) (float64, error) {
		return s.countShared(ctx, e.With(e.Memory/int64(1<<i)), 1<<i)
	})
}

// countShared counts the log with n processes and times all but the first quarter.
func (s *Suite) countShared(ctx context.Context, e *Env, n int) (rate float64, err error) {
	c, err := newProcessGroup(ctx, e, s.Log.topic())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.stop(ctx)) }()
	for i := range n {
		if err := c.start(i, 0); err != nil {
			return 0, err
		}
	}
	var from int64
	began, err := c.group.Await(ctx, func(next map[int32]int64) bool {
		from = Sum(next)
		return from >= s.Log.Events/4
	})
	if err != nil {
		return 0, err
	}
	ended, err := c.group.Await(ctx, Total(s.Log.Events))
	return float64(s.Log.Events-from) / ended.Sub(began).Seconds(), err
}
