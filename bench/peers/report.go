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
	Events  int64             `json:"events"`
	Rows    []row             `json:"rows"`
	Missing []figures.Missing `json:"not_measured"`
}

// writeJSON writes one document.
func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// writeText writes a table, followed by the missing figures.
func (r *report) writeText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEYS\tCOMMIT\tSYSTEM\tROUNDS\tM EVENTS/S\tMIN..MAX\tWEIR / IT\tMIN..MAX\tPEAK GIB")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%.3f\t%.3f..%.3f\t%.2f\t%.2f..%.2f\t%s\n", row.Keys, row.Commit, row.System, row.Rounds,
			float64(row.PerSecond)/1e6, float64(row.Min)/1e6, float64(row.Max)/1e6,
			row.Ratio, row.RatioMin, row.RatioMax, figures.GiB(row.Peak))
	}
	for _, m := range r.Missing {
		fmt.Fprintf(t, "%s: %s: not measured\n", m.What, m.Why)
	}
	return t.Flush()
}
