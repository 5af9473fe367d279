package main

import (
	"time"

	"github.com/weirhq/weir/bench/peers/figures"
)

// latencies counts records by the time until they were visible, in milliseconds. Times above a
// minute count as a minute.
type latencies struct {
	counts [60_001]int64
	n      int64
}

func (l *latencies) add(d time.Duration) {
	l.counts[min(max(d.Milliseconds(), 0), int64(len(l.counts)-1))]++
	l.n++
}

// quantile returns the least number of seconds within which the share q of the records was visible,
// 0 without a record.
func (l *latencies) quantile(q float64) float64 {
	var below int64
	for ms, n := range l.counts {
		if below += n; n > 0 && float64(below) >= q*float64(l.n) {
			return float64(ms) / 1000
		}
	}
	return 0
}

// latency is the result of one measurement.
type latency struct {
	p50, p99, max float64 // in seconds
	peak          int64
}

// spreads returns the spread of a figure over rounds.
func spreads[T any](rounds []T, figure func(T) float64) figures.Spread {
	var v []float64
	for _, r := range rounds {
		v = append(v, figure(r))
	}
	return figures.SpreadOf(v)
}
