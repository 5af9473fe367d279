package sim

import (
	"slices"
	"testing"

	"github.com/weirhq/weir/lease"
)

// TestGoals: without faults a duplicate is superseded within the replication lag and 5 s, and an
// ended lease is liberated within 5 s, after which only the quarantine delays its resource. The
// times include the models of the bridge, the transactions and the table.
func TestGoals(t *testing.T) {
	t.Parallel()
	var duplicates, liberations []int64
	for seed := range uint64(100) {
		s := Draw(seed)
		s.Faults = nil
		h := Run(s, "", false)
		for _, ms := range superseded(h) {
			duplicates = append(duplicates, max(0, ms-2*s.Lag))
		}
		for i := range h.Writes {
			if w := &h.Writes[i]; w.Rule == "liberate" && w.Before.Expires < epoch+s.ask() {
				liberations = append(liberations, w.At-w.Before.Expires)
			}
		}
	}
	for _, x := range []struct {
		what string
		ms   []int64
	}{{"supersede a duplicate, without replication", duplicates}, {"liberate an ended lease", liberations}} {
		slices.Sort(x.ms)
		n := len(x.ms)
		if n < 100 {
			t.Fatalf("%d samples are too few for the time to %s", n, x.what)
		}
		half, most := x.ms[n/2], x.ms[n*99/100]
		t.Logf("time to %s: median of %d %d ms, 99th percentile %d ms, maximum %d ms", x.what, n, half, most, x.ms[n-1])
		if most > 5000 {
			t.Errorf("time to %s: more than 5 s", x.what)
		}
	}
}

// superseded returns for how long keys were leased in two regions before one lease was superseded.
func superseded(h *History) (ms []int64) {
	s := h.Scenario
	rows, since := map[rowID]lease.Row{}, map[int]int64{}
	for i := range h.Writes {
		w := &h.Writes[i]
		if w.After.State == "" {
			continue
		}
		rows[w.Row] = w.After
		key, live := (int(w.Row)-s.Resources)/s.Regions, 0
		for r := range s.Regions {
			row := rows[rowID(s.Resources+key*s.Regions+r)]
			if row.Live(w.At, s.Skew) {
				live++
			}
		}
		switch from, double := since[key]; {
		case live > 1 && !double:
			since[key] = w.At
		case live < 2 && double:
			if delete(since, key); w.Rule == "supersede" {
				ms = append(ms, w.At-from)
			}
		}
	}
	return ms
}
