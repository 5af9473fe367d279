package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/weirhq/weir/bench/peers/figures"
)

// report is the result of a comparison.
type report struct {
	Events    int64
	Rate      int64 // of the latencies, in events per second
	Copies    []copyRun
	Latencies []latencyRun
	Missing   []figures.Missing
}

// copyRun is one copy of the full log.
type copyRun struct {
	round  int
	system string
	kills  int
	copied
}

// latencyRun is one measurement of the latency.
type latencyRun struct {
	round  int
	system string
	latency
}

// empty reports whether nothing was measured.
func (r *report) empty() bool { return r == nil || len(r.Copies)+len(r.Latencies) == 0 }

// check returns an error if copies of weir differ from the original.
func (r *report) check() error {
	for _, c := range r.Copies {
		if c.system == weir && c.differences != (differences{}) {
			return fmt.Errorf("round %d: weir's copies differ from the original: %s", c.round+1, c.differences)
		}
	}
	return nil
}

// slowest returns the least median of the systems' rates, 0 without a rate.
func (r *report) slowest() (rate int64) {
	for _, row := range r.rates() {
		if v := int64(row.PerSecond.Median); rate == 0 || v < rate {
			rate = v
		}
	}
	return rate
}

// document is the report as JSON.
type document struct {
	Events    int64             `json:"events"`
	Rates     []rateRow         `json:"rates"`
	Kills     []killRow         `json:"kills"`
	Rate      int64             `json:"latency_events_per_second"`
	Latencies []latencyRow      `json:"latencies"`
	Missing   []figures.Missing `json:"not_measured"`
}

// writeJSON writes one document.
func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(document{r.Events, r.rates(), r.killed(), r.Rate, r.latencies(), r.Missing})
}

// writeText writes a table for each measurement, followed by the missing figures.
func (r *report) writeText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if rows := r.rates(); len(rows) > 0 {
		fmt.Fprintf(t, "a copy of %d events\n", r.Events)
		fmt.Fprintln(t, "SYSTEM\tROUNDS\tM EVENTS/S\tMIN..MAX\tWEIR / IT\tMIN..MAX\tSECONDS\tDIFFERENCES\tPEAK GIB")
		for _, row := range rows {
			s, q := row.PerSecond, row.Ratio
			fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f..%.3f\t%.2f\t%.2f..%.2f\t%.1f\t%d\t%s\n", row.System, row.Rounds,
				s.Median/1e6, s.Min/1e6, s.Max/1e6, q.Median, q.Min, q.Max, row.Seconds.Median, row.sum(), figures.GiB(row.Peak))
		}
		fmt.Fprintln(t)
	}
	if rows := r.killed(); len(rows) > 0 {
		fmt.Fprintf(t, "a copy of %d events with kills; differences of all rounds\n", r.Events)
		fmt.Fprintln(t, "SYSTEM\tROUNDS\tKILLS\tDUPLICATES\tLOST\tDISORDERED\tALTERED\tSECONDS\tMIN..MAX")
		for _, row := range rows {
			s := row.Seconds
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%.1f\t%.1f..%.1f\n", row.System, row.Rounds, row.Kills,
				row.Duplicates, row.Lost, row.Disordered, row.Altered, s.Median, s.Min, s.Max)
		}
		fmt.Fprintln(t)
	}
	if rows := r.latencies(); len(rows) > 0 {
		fmt.Fprintf(t, "seconds until a record is visible, at %d events/s\n", r.Rate)
		fmt.Fprintln(t, "SYSTEM\tROUNDS\tP50\tMIN..MAX\tP99\tMIN..MAX\tPEAK GIB")
		for _, row := range rows {
			m, n := row.P50, row.P99
			fmt.Fprintf(t, "%s\t%d\t%.3f\t%.3f..%.3f\t%.3f\t%.3f..%.3f\t%s\n", row.System, row.Rounds,
				m.Median, m.Min, m.Max, n.Median, n.Min, n.Max, figures.GiB(row.Peak))
		}
	}
	for _, m := range r.Missing {
		fmt.Fprintf(t, "%s: %s: not measured\n", m.What, m.Why)
	}
	return t.Flush()
}
