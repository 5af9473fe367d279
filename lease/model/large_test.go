package model

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/weirhq/weir/lease"
)

// largeConfigs have everything at once: two regions, keys, resources and clients, clocks with
// differences, replication in any order, every command, a crash, and a region that is cut off. They
// are bounded by time, by three operations of clients, and by any two faults. In "moves" an adopted
// or transferred resource is leased again, and every write of clients and commands is made.
// "retirement" also has an administrator, and fewer ticks.
func largeConfigs() map[string]Config {
	moves := Config{
		Rules: lease.Protocol(), Regions: []string{"A", "B"}, Keys: []string{"k", "l"}, Resources: []Resource{{"r", 0}, {"s", 1}},
		Clients: []Client{{Skew: -1, Ops: 1}, {Region: 1, Skew: 1, Ops: 2}},
		Length:  3, Skew: 1, Quarantine: 1, Ticks: 7, NoIndexLag: true, Renewals: true, Releases: true,
		Faults: 2, Crashes: 1, Liberations: 1, Transfers: 1, Supersedes: 1, Adoptions: 1,
		CutBy: 2, WriteLease: 2, CommandSkew: 1, WriteTimeSkew: []int64{1, -1}, Flight: 1, TransferWait: 4,
	}
	retirement := moves
	retirement.Retires, retirement.Revives, retirement.Ticks = 1, 1, 5
	return map[string]Config{"moves": moves, "retirement": retirement}
}

// maxLargeStates is the number of states that fit into 8 GB.
const maxLargeStates = 200_000_000

func TestBig(t *testing.T) {
	if os.Getenv("WEIR_TEST_MODEL_BIG") == "" {
		t.Skip("takes 15 minutes and 6 GB: WEIR_TEST_MODEL_BIG=1 go test -timeout 1h -run TestBig -v ./lease/model")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // nearly all memory lives as long as the test
	unused := map[string][]string{                   // rules that a configuration does not use
		"moves":      {"offered", "register", "retire", "revive"},
		"retirement": {"offered", "register", "reclaim"},
	}
	for name, c := range largeConfigs() {
		t.Run(name, func(t *testing.T) {
			res := explore(t, c, maxLargeStates)
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			t.Logf("%d states, %d MB, writes made: %v", res.States, memory.Sys>>20, res.Made)
			if res.Broken != "" || res.States > maxLargeStates {
				t.Fatal(res)
			}
			for _, rule := range lease.Protocol().All() {
				if !slices.Contains(res.Made, rule.Name) && !slices.Contains(unused[name], rule.Name) {
					t.Errorf("no write by rule %s was made", rule.Name)
				}
			}
		})
		debug.FreeOSMemory()
	}
}
