package model

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/lease"
)

// limit is greater than the number of states of each configuration below.
const limit = 20_000_000

func configs() map[string]Config {
	base := Config{
		Rules: lease.Protocol(), Regions: []string{"A"}, Keys: []string{"k", "l"}, Resources: []Resource{{"r", 0}, {"s", 0}},
		Length: 4, Skew: 1, Quarantine: 1,
	}
	race := base
	race.Clients = []Client{{Skew: -1, Ops: 1}, {Skew: 1, Ops: 1}, {Ops: 1}}
	race.Crashes, race.LostAnswers, race.Ticks = 2, 1, 2

	reimport := race
	reimport.Clients, reimport.Imports, reimport.Crashes, reimport.LostAnswers = race.Clients[:2], 1, 0, 0

	renewal := base
	renewal.Clients = []Client{{Skew: -1, Ops: 2}, {Skew: 1, Ops: 2}}
	renewal.Renewals, renewal.Releases, renewal.Liberations, renewal.Repeats, renewal.Ticks, renewal.CommandSkew = true, true, 1, 0, 7, 1
	renewal.Length, renewal.NoIndexLag, renewal.Keys = 3, true, []string{"k"}

	interrupted := renewal
	interrupted.Crashes, interrupted.LostAnswers = 1, 1

	exchange := base
	exchange.Resources, exchange.Clients = []Resource{{"r", 0}}, []Client{{Skew: -1, Ops: 1}, {Skew: 1, Ops: 2}}
	exchange.Renewals, exchange.Releases, exchange.Liberations, exchange.Ticks, exchange.CommandSkew = true, true, 1, 8, 1
	exchange.Length, exchange.NoIndexLag = 3, true

	lostAnswers := exchange
	lostAnswers.Crashes, lostAnswers.LostAnswers, lostAnswers.Repeats = 1, 1, 1

	twoRegions := base
	twoRegions.Regions, twoRegions.Resources = []string{"A", "B"}, []Resource{{"r", 0}, {"s", 1}}
	twoRegions.Clients = []Client{{Skew: -1, Ops: 1}, {Region: 1, Skew: 1, Ops: 2}}
	twoRegions.Supersedes, twoRegions.Crashes, twoRegions.Ticks, twoRegions.Length, twoRegions.NoIndexLag = 1, 1, 7, 4, true

	transferred := base
	transferred.Regions, transferred.Resources = []string{"A", "B"}, []Resource{{"r", 0}}
	transferred.Clients = []Client{{Skew: -1, Ops: 1}, {Region: 1, Skew: 1, Ops: 1}}
	transferred.Transfers, transferred.Repeats, transferred.Ticks, transferred.Length, transferred.NoIndexLag = 1, 1, 9, 3, true
	transferred.WriteTimeSkew, transferred.Flight, transferred.TransferWait = []int64{1, -1}, 1, 5

	adoption := base
	adoption.Regions, adoption.Resources = []string{"A", "B"}, []Resource{{"r", 0}}
	adoption.Clients = []Client{{Skew: -1, Ops: 1, Only: "k"}, {Region: 1, Skew: 1, Ops: 1, Only: "l"}}
	adoption.Ticks, adoption.Length, adoption.NoIndexLag = 9, 3, true
	adoption.CutBy, adoption.Adoptions, adoption.WriteLease, adoption.Repeats, adoption.CommandSkew = 3, 1, 2, 1, 1

	retirement := base
	retirement.Resources, retirement.Clients = []Resource{{"r", 0}}, []Client{{Skew: -1, Ops: 2, Only: "k"}, {Skew: 1, Ops: 1, Only: "l"}}
	retirement.Releases, retirement.Ticks, retirement.CommandSkew, retirement.Length = true, 7, 1, 3
	retirement.Retires, retirement.Revives, retirement.Repeats, retirement.Commands = 1, 1, 1, 2
	retirement.NoIndexLag = true
	return map[string]Config{"retirement": retirement, "race": race, "reimport": reimport, "renewal": renewal, "interrupted": interrupted, "exchange": exchange, "lostAnswers": lostAnswers, "twoRegions": twoRegions, "transferred": transferred, "adoption": adoption}
}

// No configuration violates an invariant, and together they make every write.
func TestProtocol(t *testing.T) {
	all := configs()
	maps.Copy(all, lateConfigs())
	var made sync.Map
	t.Run("configurations", func(t *testing.T) {
		for name, c := range all {
			if slices.Contains([]string{"interrupted", "lostAnswers", "twoRegions"}, name) && os.Getenv("WEIR_TEST_MODEL_FULL") == "" {
				c.Ticks = 5 // make sim-model explores them whole
			}
			if testing.Short() {
				c.Ticks = min(c.Ticks, 5)
				if c.Prefix == nil {
					c.Clients = c.Clients[:1]
				}
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				res := explore(t, c, limit)
				t.Logf("%s: %d states", name, res.States)
				if res.Broken != "" || res.States > limit {
					t.Fatalf("%d states\n%s", res.States, res)
				}
				for _, rule := range res.Made {
					made.Store(rule, true)
				}
			})
		}
	})
	for _, rule := range lease.Protocol().All() {
		if _, ok := made.Load(rule.Name); !ok && rule.Name != "offered" && rule.Name != "register" && !testing.Short() {
			t.Errorf("no configuration makes a write by rule %s", rule.Name)
		}
	}
}

// Violations by something other than a missing condition are found too.
func TestBreaches(t *testing.T) {
	naive := configs()["race"]
	naive.Naive = true

	early := lateConfigs()["revived"]
	early.AdoptRetiredEarly = true

	unsettled := configs()["interrupted"]
	unsettled.SkipSettle = true

	nameless := configs()["twoRegions"]
	nameless.Rules = lease.Protocol()
	nameless.Rules.Supersede.Set = []lease.Attr{lease.AttrState} // without the winner

	for name, c := range map[string]struct {
		Config
		breaks string
	}{"the protocol of the article": {naive, "LEASE-2"}, "an early adoption of a retired resource": {early, "LEASE-8"}, "a lease taken for settled": {unsettled, "LEASE-2"}, "a winner without a name": {nameless, "LEASE-3"}} {
		t.Run(name, func(t *testing.T) {
			res := explore(t, c.Config, limit)
			if !strings.HasPrefix(res.Broken, c.breaks+":") {
				t.Fatalf("%d states, want %s to break\n%s", res.States, c.breaks, res)
			}
			t.Logf("%d states\n%s", res.States, res)
		})
	}
}

// violatedIn returns the configurations that a missing condition violates.
func violatedIn(condition string) []string {
	rule, test, _ := strings.Cut(condition, " without ")
	switch rule {
	case "liberate", "transfer", "drop", "supersede", "reinstate":
		if test == "version equal" {
			return []string{rule} // a write that comes late
		}
		return map[string][]string{"liberate": {"exchange"}, "transfer": {"transferred"}}[rule]
	case "reclaim", "repoint", "settle", "extend":
		return []string{"renewal"}
	case "retire", "revive":
		return []string{"retirement"}
	case "adopt":
		return []string{"adoption"}
	default:
		return []string{"reimport", "exchange", "transferred"}
	}
}

// conditions returns the names of all conditions of all rules.
func conditions() (names []string) {
	for _, rule := range lease.Protocol().All() {
		for _, c := range rule.When {
			names = append(names, rule.Name+" without "+c.String())
		}
	}
	return names
}

// mutant returns the protocol without one condition.
func mutant(t *testing.T, condition string) *lease.Rules {
	t.Helper()
	rules := lease.Protocol()
	if condition == "" {
		return rules
	}
	for _, rule := range rules.All() {
		for i, c := range rule.When {
			if rule.Name+" without "+c.String() == condition {
				rule.When = slices.Delete(slices.Clone(rule.When), i, i+1)
				return rules
			}
		}
	}
	t.Fatalf("there is no condition %q", condition)
	return nil
}

// Without any one condition of any rule, an invariant is violated.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute: run without -short")
	}
	all := configs()
	maps.Copy(all, lateConfigs())
	for _, condition := range conditions() {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			for _, name := range violatedIn(condition) {
				c := all[name]
				c.Rules = mutant(t, condition)
				if res := explore(t, c, 1_000_000); res.Broken != "" {
					t.Logf("%s: %d states\n%s", name, res.States, res)
					return
				}
			}
			t.Error("no invariant is violated")
		})
	}
}

func explore(t *testing.T, c Config, limit int) Result {
	t.Helper()
	res, err := Explore(c, limit)
	if err != nil {
		t.Fatal(err)
	}
	return res
}
