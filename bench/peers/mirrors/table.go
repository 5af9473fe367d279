package main

import "github.com/weirhq/weir/bench/peers/figures"

// rateRow is a line of the table of rates: one system, spreads over the rounds.
type rateRow struct {
	System    string         `json:"system"`
	Rounds    int            `json:"rounds"`
	PerSecond figures.Spread `json:"events_per_second"`
	// Ratio is weir's events per second divided by this system's, round by round; 2 means that weir
	// is twice as fast. It is 0 without a round in which both were measured.
	Ratio   figures.Spread `json:"weir_ratio"`
	Seconds figures.Spread `json:"seconds"`    // from the start of the process to the last copy
	Peak    int64          `json:"peak_bytes"` // greatest resident memory of a round; 0: unknown
	differences
}

// sum returns the number of all differences.
func (d differences) sum() int64 { return d.Duplicates + d.Lost + d.Disordered + d.Altered }

func (d *differences) add(o differences) {
	d.Duplicates, d.Lost, d.Disordered, d.Altered = d.Duplicates+o.Duplicates, d.Lost+o.Lost, d.Disordered+o.Disordered, d.Altered+o.Altered
}

// killRow is a line of the table of copies with kills. The differences are those of all rounds.
type killRow struct {
	System  string         `json:"system"`
	Rounds  int            `json:"rounds"`
	Kills   int            `json:"kills"` // of all rounds
	Seconds figures.Spread `json:"seconds"`
	differences
}

// latencyRow is a line of the table of latencies, in seconds.
type latencyRow struct {
	System string         `json:"system"`
	Rounds int            `json:"rounds"`
	P50    figures.Spread `json:"p50"`
	P99    figures.Spread `json:"p99"`
	Max    figures.Spread `json:"max"`
	Peak   int64          `json:"peak_bytes"`
}

// systemsOf returns the systems that were measured, in the order of allSystems.
func systemsOf[T any](runs []T, system func(T) string) (names []string, of map[string][]T) {
	of = map[string][]T{}
	for _, r := range runs {
		of[system(r)] = append(of[system(r)], r)
	}
	for _, name := range []string{weir, exactlyOnce, atLeastOnce} {
		if len(of[name]) > 0 {
			names = append(names, name)
		}
	}
	return names, of
}

// copiesOf returns the copies with or without kills.
func (r *report) copiesOf(kills bool) (names []string, of map[string][]copyRun) {
	var runs []copyRun
	for _, c := range r.Copies {
		if c.kills > 0 == kills {
			runs = append(runs, c)
		}
	}
	return systemsOf(runs, func(c copyRun) string { return c.system })
}

// rates returns the table of rates.
func (r *report) rates() (rows []rateRow) {
	names, of := r.copiesOf(false)
	ours := map[int]float64{}
	for _, c := range of[weir] {
		ours[c.round] = c.perSecond
	}
	for _, name := range names {
		row := rateRow{
			System: name, Rounds: len(of[name]), PerSecond: spreads(of[name], func(c copyRun) float64 { return c.perSecond }),
			Seconds: spreads(of[name], func(c copyRun) float64 { return c.seconds }).Hundredths(),
		}
		var ratios []float64
		for _, c := range of[name] {
			row.Peak = max(row.Peak, c.peak)
			row.add(c.differences)
			if own, ok := ours[c.round]; ok && c.perSecond > 0 {
				ratios = append(ratios, own/c.perSecond)
			}
		}
		row.Ratio = figures.SpreadOf(ratios).Hundredths()
		rows = append(rows, row)
	}
	return rows
}

// killed returns the table of copies with kills.
func (r *report) killed() (rows []killRow) {
	names, of := r.copiesOf(true)
	for _, name := range names {
		row := killRow{
			System: name, Rounds: len(of[name]), Seconds: spreads(of[name], func(c copyRun) float64 { return c.seconds }).Hundredths(),
		}
		for _, c := range of[name] {
			row.Kills += c.kills
			row.add(c.differences)
		}
		rows = append(rows, row)
	}
	return rows
}

// latencies returns the table of latencies.
func (r *report) latencies() (rows []latencyRow) {
	names, of := systemsOf(r.Latencies, func(l latencyRun) string { return l.system })
	for _, name := range names {
		row := latencyRow{
			System: name, Rounds: len(of[name]),
			P50: spreads(of[name], func(l latencyRun) float64 { return l.p50 }),
			P99: spreads(of[name], func(l latencyRun) float64 { return l.p99 }),
			Max: spreads(of[name], func(l latencyRun) float64 { return l.max }),
		}
		for _, l := range of[name] {
			row.Peak = max(row.Peak, l.peak)
		}
		rows = append(rows, row)
	}
	return rows
}
