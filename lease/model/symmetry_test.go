package model

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// smallConfigs can be explored completely in a moment. Together they have all kinds of transitions.
func smallConfigs() map[string]Config {
	all := configs()
	race, renewal, twoRegions, transferred, adoption, retirement := all["race"], all["renewal"], all["twoRegions"], all["transferred"], all["adoption"], all["retirement"]
	race.Clients, race.Crashes = []Client{{Ops: 1}, {Ops: 1}}, 1
	renewal.Clients, renewal.Ticks = []Client{{Ops: 2}, {Ops: 2}}, 4
	twoRegions.Clients, twoRegions.Ticks = []Client{{Ops: 1}, {Region: 1, Skew: 1, Ops: 1}}, 5
	transferred.Clients, transferred.Repeats = []Client{{Region: 1, Ops: 1}, {Region: 1, Ops: 1}}, 0
	transferred.Resources = []Resource{{"r", 0}, {"s", 0}}
	transferred.WriteTimeSkew, transferred.TransferWait, transferred.Ticks = nil, 3, 6
	adoption.Ticks, adoption.Repeats = 8, 0
	retirement.Clients, retirement.Ticks, retirement.Repeats = []Client{{Ops: 1, Only: "k"}, {Ops: 1, Only: "l"}}, 4, 0
	return map[string]Config{
		"race": race, "reimport": all["reimport"], "renewal": renewal, "twoRegions": twoRegions, "transferred": transferred, "adoption": adoption, "retirement": retirement,
	}
}

// The two reductions, by symmetry and by normalization, change neither whether an invariant is
// violated nor the length of the history: with the protocol's rules, and without any one condition
// of them. WEIR_TEST_MODEL_FULL leaves out each condition, and not every fourth only.
func TestReductionsChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: run without -short")
	}
	every, least := 4, 2
	if os.Getenv("WEIR_TEST_MODEL_FULL") != "" {
		every, least = 1, 8
	}
	broken := map[string]int{}
	for name, c := range smallConfigs() {
		for i, without := range append([]string{""}, conditions()...) {
			if i%every != 0 {
				continue
			}
			if name == "adoption" && without != "" && !strings.HasPrefix(without, "adopt") && !strings.HasPrefix(without, "offered") {
				continue // it takes seconds, and repeats what other configurations cover
			}
			c.Rules = mutant(t, without)
			c.NoSymmetry, c.NoNormalization = false, false
			reduced := explore(t, c, smallLimit)
			c.NoSymmetry, c.NoNormalization = true, true
			full := explore(t, c, 4*smallLimit)
			if full.States > 4*smallLimit || reduced.States > smallLimit {
				t.Fatalf("%s without %q: more than %d states, %d reduced", name, without, full.States, reduced.States)
			}
			if (reduced.Broken == "") != (full.Broken == "") || len(reduced.History) != len(full.History) {
				t.Errorf("%s without %q: reduced\n%s\nfull\n%s", name, without, reduced, full)
			}
			if without == "" {
				t.Logf("%s: %d states, %d reduced", name, full.States, reduced.States)
			}
			if full.Broken != "" {
				broken[without]++
			}
		}
	}
	t.Logf("violations by condition left out: %v", broken)
	if broken[""] > 0 || len(broken) < least {
		t.Errorf("too few mutants violate an invariant here, or the protocol itself does: %v", broken)
	}
}

const smallLimit = 400_000

// If the first state contains no names, the explored states stand for as many states as there are.
func TestSymmetriesMissNothing(t *testing.T) {
	for name, c := range smallConfigs() {
		if name == "reimport" || testing.Short() && name != "race" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, start, _, err := begin(c)
			if err != nil {
				t.Fatal(err)
			}
			known := parts{}
			if p := e.pack(&start, &state{}, &known); len(images(e, p)) != 1 {
				t.Skip("the first state contains names")
			}
			if err := e.visit(start, limit); err != nil {
				t.Fatal(err)
			}
			stoodFor := 0
			for n := range e.seen.n {
				known.get(e.seen.state(n))
				stoodFor += len(images(e, known))
			}
			c.NoSymmetry = true
			full := explore(t, c, limit)
			t.Logf("%d states, %d symmetries, %d states looked at", full.States, len(e.group), e.seen.n)
			if stoodFor != full.States {
				t.Errorf("%d states, but the explored ones stand for %d", full.States, stoodFor)
			}
		})
	}
}

// images returns the different states that the symmetries make of one.
func images(e *explorer, p parts) map[parts]bool {
	all := map[parts]bool{}
	for _, s := range e.group {
		to := parts{}
		e.image(&p, &to, s)
		all[to] = true
	}
	return all
}

// Renaming reaches the private fields of the state machines, and renaming twice restores the value.
func TestRename(t *testing.T) {
	c := smallConfigs()["renewal"]
	e, start, _, err := begin(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.visit(start, 20_000); err != nil {
		t.Fatal(err)
	}
	there := map[string]string{"r": "s", "s": "r", "k": "l", "l": "k"}
	away := map[string]string{"r": "*", "s": "*", "k": "*", "l": "*"}
	for _, c := range slices.Clone(e.clients.list) {
		was := c
		rename(&c, there)
		rename(&c, there)
		if c != was {
			t.Fatalf("renamed there and back:\n%+v\nwas\n%+v", c, was)
		}
		rename(&c, away)
		for _, name := range []string{"Resource:r", "Resource:s", "Key:k", "Key:l"} {
			if s := fmt.Sprintf("%+v", c); strings.Contains(s, name) {
				t.Fatalf("%s is left in %s", name, s)
			}
		}
	}
}
