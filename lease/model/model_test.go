package model

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weirhq/weir/lease"
)

// limit is more states than any of the worlds below has.
const limit = 20_000_000

func configs() map[string]Config {
	base := Config{
		Rules: lease.Protocol(), Regions: []string{"A"}, Keys: []string{"k", "l"}, Resources: []Resource{{"r", 0}, {"s", 0}},
		Length: 4, Skew: 1, Quarantine: 1,
	}
	race := base
	race.Clients = []Client{{Skew: -1, Ops: 1}, {Skew: 1, Ops: 1}, {Ops: 1}}
	race.Crashes, race.LostAnswers, race.Ticks = 2, 1, 2

	again := race
	again.Clients, again.Imports, again.Crashes, again.LostAnswers = race.Clients[:2], 1, 0, 0

	life := base
	life.Clients = []Client{{Skew: -1, Ops: 2}, {Skew: 1, Ops: 2}}
	life.Renewals, life.Releases, life.Liberations, life.Repeats, life.Ticks, life.CommandSkew = true, true, 1, 0, 7, 1
	life.Length, life.NoIndexLag, life.Keys = 3, true, []string{"k"}

	interrupted := life
	interrupted.Crashes, interrupted.LostAnswers = 1, 1

	exchange := base
	exchange.Resources, exchange.Clients = []Resource{{"r", 0}}, []Client{{Skew: -1, Ops: 1}, {Skew: 1, Ops: 2}}
	exchange.Renewals, exchange.Releases, exchange.Liberations, exchange.Ticks, exchange.CommandSkew = true, true, 1, 8, 1
	exchange.Length, exchange.NoIndexLag = 3, true

	unheard := exchange
	unheard.Crashes, unheard.LostAnswers, unheard.Repeats = 1, 1, 1

	apart := base
	apart.Regions, apart.Resources = []string{"A", "B"}, []Resource{{"r", 0}, {"s", 1}}
	apart.Clients = []Client{{Skew: -1, Ops: 1}, {Region: 1, Skew: 1, Ops: 2}}
	apart.Supersedes, apart.Crashes, apart.Ticks, apart.Length, apart.NoIndexLag = 1, 1, 7, 4, true

	moved := base
	moved.Regions, moved.Resources = []string{"A", "B"}, []Resource{{"r", 0}}
	moved.Clients = []Client{{Skew: -1, Ops: 1}, {Region: 1, Skew: 1, Ops: 1}}
	moved.Transfers, moved.Repeats, moved.Ticks, moved.Length, moved.NoIndexLag = 1, 1, 9, 3, true
	moved.StampSkew, moved.Flight, moved.TransferWait = []int64{1, -1}, 1, 5

	dead := base
	dead.Regions, dead.Resources = []string{"A", "B"}, []Resource{{"r", 0}}
	dead.Clients = []Client{{Skew: -1, Ops: 1, Only: "k"}, {Region: 1, Skew: 1, Ops: 1, Only: "l"}}
	dead.Ticks, dead.Length, dead.NoIndexLag = 9, 3, true
	dead.CutBy, dead.Adoptions, dead.RegionLease, dead.Repeats, dead.CommandSkew = 3, 1, 2, 1, 1

	shelf := base
	shelf.Resources, shelf.Clients = []Resource{{"r", 0}}, []Client{{Skew: -1, Ops: 2, Only: "k"}, {Skew: 1, Ops: 1, Only: "l"}}
	shelf.Releases, shelf.Ticks, shelf.CommandSkew, shelf.Length = true, 7, 1, 3
	shelf.Retires, shelf.Revives, shelf.Repeats, shelf.Commands = 1, 1, 1, 2
	shelf.NoIndexLag = true
	return map[string]Config{"shelf": shelf, "race": race, "again": again, "life": life, "interrupted": interrupted, "exchange": exchange, "unheard": unheard, "apart": apart, "moved": moved, "dead": dead}
}

// In no world an invariant breaks, and between them they have every write.
func TestProtocol(t *testing.T) {
	all := configs()
	maps.Copy(all, late())
	var made sync.Map
	t.Run("worlds", func(t *testing.T) {
		for name, c := range all {
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
			t.Errorf("no world has a %s that is made", rule.Name)
		}
	}
}

// What is outside of the rules and must not be is found too.
func TestBreaches(t *testing.T) {
	seed := configs()["race"]
	seed.Naive = true

	hasty := late()["buried"]
	hasty.AdoptRetiredEarly = true

	forgetful := configs()["interrupted"]
	forgetful.SkipSettle = true

	mute := configs()["apart"]
	mute.Rules = lease.Protocol()
	mute.Rules.Supersede.Set = []lease.Attr{lease.AttrState} // and not who won

	for name, c := range map[string]struct {
		Config
		breaks string
	}{"the seed's protocol": {seed, "I7"}, "a hasty adoption": {hasty, "I20"}, "a lease taken for settled": {forgetful, "I7r"}, "a winner without a name": {mute, "I8"}} {
		t.Run(name, func(t *testing.T) {
			res := explore(t, c.Config, limit)
			if !strings.HasPrefix(res.Broken, c.breaks) {
				t.Fatalf("%d states, want %s to break\n%s", res.States, c.breaks, res)
			}
			t.Logf("%d states\n%s", res.States, res)
		})
	}
}

// missing are the worlds that miss a condition of a rule.
func missing(condition string) []string {
	rule, test, _ := strings.Cut(condition, " without ")
	switch rule {
	case "liberate", "transfer", "drop", "supersede", "reinstate":
		if test == "version equal" {
			return []string{rule} // a write that comes late
		}
		return map[string][]string{"liberate": {"exchange"}, "transfer": {"moved"}}[rule]
	case "reclaim", "repoint", "settle", "extend":
		return []string{"life"}
	case "retire", "revive":
		return []string{"shelf"}
	case "adopt":
		return []string{"dead"}
	default:
		return []string{"again", "exchange", "moved"}
	}
}

// conditions are all conditions of all rules.
func conditions() (names []string) {
	for _, rule := range lease.Protocol().All() {
		for _, c := range rule.When {
			names = append(names, rule.Name+" without "+c.String())
		}
	}
	return names
}

// mutant is the protocol without one condition.
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

// Each condition of each rule is needed.
func TestMutations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute: run without -short")
	}
	all := configs()
	maps.Copy(all, late())
	for _, condition := range conditions() {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			for _, name := range missing(condition) {
				c := all[name]
				c.Rules = mutant(t, condition)
				if res := explore(t, c, 1_000_000); res.Broken != "" {
					t.Logf("%s: %d states\n%s", name, res.States, res)
					return
				}
			}
			t.Error("no invariant is broken")
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
