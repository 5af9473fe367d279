package dedup

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// TestArrivals: three regions lease one key, granted at all combinations of times, seen in all
// orders and cut into commits in all ways. The first by time gets no command; each other region
// gets one that names the first as the winner.
func TestArrivals(t *testing.T) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for n := range 64 {
		granted := []int64{int64(n % 4), int64(n / 4 % 4), int64(n / 16)}
		best := 0
		for i, g := range granted {
			if b := granted[best]; b == 0 && g > 0 || g > 0 && g < b {
				best = i
			}
		}
		for _, order := range orders {
			for cuts := range 4 {
				r := newRunner(t, testConfig())
				r.Append(marshal(t, settings(1, "")))
				commanded := map[string]string{}
				for i, at := range order {
					c := keyRow(regions()[at], 1, lease.Leased)
					c.GetKey().GrantedMs = granted[at]
					r.Append(marshal(t, c))
					if r.Fold(2); i < 2 && cuts>>i&1 == 0 {
						continue
					}
					r.Commit(int64(2000 + i))
					for _, o := range r.TakeOutputs() {
						if commands(o) {
							c := unmarshal(t, o.Value, &eventspb.LeaseCommand{})
							commanded[c.Region] = c.GetSupersede().Winner
						}
					}
				}
				what := fmt.Sprintf("granted %v, seen in order %v, cuts %b: commanded %v", granted, order, cuts, commanded)
				if commanded[regions()[best]] != "" {
					t.Fatalf("%s: %s is first", what, regions()[best])
				}
				for i, region := range regions() {
					if i != best && commanded[region] != regions()[best] {
						t.Fatalf("%s: %s got no command that names %s", what, region, regions()[best])
					}
				}
			}
		}
	}
}

// TestDecide: of all pairs of rows the winner is live, not a loser, and has no command against it.
func TestDecide(t *testing.T) {
	states := []lease.State{lease.Leased, lease.Superseded, lease.Pending, lease.Released}
	var kinds []Row
	for _, s := range states {
		for _, expires := range []int64{1400, 1501, 9000} {
			for _, sent := range []string{"", "x"} {
				for _, granted := range []int64{0, 1, 2} {
					kinds = append(kinds, Row{State: s, Expires: expires, CommandedWinner: sent, Granted: granted})
				}
			}
		}
	}
	for _, a := range kinds {
		for _, b := range kinds {
			rows := []Row{a, b}
			rows[0].Region, rows[1].Region = "eu", "us"
			v := decide(rows, 1000, 500)
			if v.winner < 0 {
				if len(v.losers) > 0 {
					t.Fatalf("losers and no winner: %v", rows)
				}
				continue
			}
			w := rows[v.winner]
			if w.State != lease.Leased || w.Expires <= 1500 || w.CommandedWinner != "" || slices.Contains(v.losers, v.winner) {
				t.Fatalf("%v wins of %v, losers %v", w, rows, v.losers)
			}
			for _, i := range v.live {
				// Granted first; a known time before an unknown one; eu before us.
				if r := &rows[i]; r.CommandedWinner == "" && (r.Granted > 0 && (w.Granted == 0 || r.Granted < w.Granted) || r.Granted == w.Granted && r.Region < w.Region) {
					t.Fatalf("%v wins, %v is before", w, rows[i])
				}
			}
		}
	}
}
