package main

import (
	"slices"
	"time"

	"github.com/weirhq/weir/bench/peers/figures"
)

// sample is one run of one system.
type sample struct {
	keys      string
	commit    time.Duration
	round     int
	system    string
	perSecond float64
	peak      int64 // greatest resident memory in bytes; 0: unknown
}

// row is a line of the table: one system at one interval on one log, medians over the rounds.
type row struct {
	Keys      string  `json:"keys"`
	Commit    string  `json:"commit"`
	System    string  `json:"system"`
	Rounds    int     `json:"rounds"`
	PerSecond int64   `json:"events_per_second"`
	Min       int64   `json:"min"`
	Max       int64   `json:"max"`
	Ratio     float64 `json:"weir_ratio"` // weir's events/s divided by this system's, round by round; 2 means that weir is twice as fast
	RatioMin  float64 `json:"weir_ratio_min"`
	RatioMax  float64 `json:"weir_ratio_max"`
	Peak      int64   `json:"peak_bytes"` // greatest resident memory of a round; 0: unknown
}

// tabulate returns the rows of samples, in the order of their first samples. A row without a round
// in which weir was measured, too, has the ratio 0.
func tabulate(samples []sample) []row {
	type kind struct {
		keys   string
		commit time.Duration
		system string
	}
	type place struct {
		keys   string
		commit time.Duration
		round  int
	}
	ours := map[place]float64{}
	groups := map[kind][]sample{}
	var order []kind
	for _, s := range samples {
		if s.system == weir {
			ours[place{s.keys, s.commit, s.round}] = s.perSecond
		}
		k := kind{s.keys, s.commit, s.system}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	var rows []row
	for _, k := range order {
		var speeds, ratios []float64
		var peak int64
		for _, s := range groups[k] {
			speeds, peak = append(speeds, s.perSecond), max(peak, s.peak)
			if own, ok := ours[place{s.keys, s.commit, s.round}]; ok {
				ratios = append(ratios, own/s.perSecond)
			}
		}
		r := row{
			Keys: k.keys, Commit: k.commit.String(), System: k.system, Rounds: len(speeds),
			PerSecond: int64(figures.Median(speeds)), Min: int64(slices.Min(speeds)), Max: int64(slices.Max(speeds)),
			Peak: peak,
		}
		if len(ratios) > 0 {
			s := figures.SpreadOf(ratios).Hundredths()
			r.Ratio, r.RatioMin, r.RatioMax = s.Median, s.Min, s.Max
		}
		rows = append(rows, r)
	}
	return rows
}
