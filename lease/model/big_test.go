package model

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/weirhq/weir/lease"
)

// big are worlds that have everything at once: two regions, keys, resources and clients, clocks that are off, copies of rows
// that come in any order, every command, a crash, and a region that is cut off. They are bounded by time, by three
// operations of clients, and to any two of the troubles. In "moves" what was adopted or transferred is leased again, and every
// write of clients and commands is made. "shelves" has an administrator too, and ends earlier.
func big() map[string]Config {
	moves := Config{
		Rules: lease.Protocol(), Regions: []string{"A", "B"}, Keys: []string{"k", "l"}, Resources: []Resource{{"r", 0}, {"s", 1}},
		Clients: []Client{{Skew: -1, Ops: 1}, {Region: 1, Skew: 1, Ops: 2}},
		Length:  3, Skew: 1, Quarantine: 1, Ticks: 7, NoIndexLag: true, Renewals: true, Releases: true,
		Faults: 2, Crashes: 1, Liberations: 1, Transfers: 1, Supersedes: 1, Adoptions: 1,
		CutBy: 2, RegionLease: 2, CommandSkew: 1, StampSkew: []int64{1, -1}, Flight: 1, TransferWait: 4,
	}
	shelves := moves
	shelves.Retires, shelves.Revives, shelves.Ticks = 1, 1, 5
	return map[string]Config{"moves": moves, "shelves": shelves}
}

// mostBig is more states than fit into 8 GB.
const mostBig = 200_000_000

func TestBig(t *testing.T) {
	if os.Getenv("MODEL_BIG") == "" {
		t.Skip("takes 15 minutes and 6 GB: MODEL_BIG=1 go test -timeout 1h -run TestBig -v ./lease/model")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // nearly all of it lives as long as the test
	elsewhere := map[string][]string{                // rules that a world has no use for, or no time
		"moves":   {"offered", "register", "retire", "revive"},
		"shelves": {"offered", "register", "reclaim"},
	}
	for name, c := range big() {
		t.Run(name, func(t *testing.T) {
			res := explore(t, c, mostBig)
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			t.Logf("%d states, %d MB, writes made: %v", res.States, memory.Sys>>20, res.Made)
			if res.Broken != "" || res.States > mostBig {
				t.Fatal(res)
			}
			for _, rule := range lease.Protocol().All() {
				if !slices.Contains(res.Made, rule.Name) && !slices.Contains(elsewhere[name], rule.Name) {
					t.Errorf("no %s was made", rule.Name)
				}
			}
		})
		debug.FreeOSMemory()
	}
}
