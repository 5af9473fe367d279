package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// small are worlds that can be explored in every way in a moment. Between them they have all kinds of moves.
func small() map[string]Config {
	all := configs()
	race, life, apart, moved, dead, shelf := all["race"], all["life"], all["apart"], all["moved"], all["dead"], all["shelf"]
	race.Clients, race.Crashes = []Client{{Ops: 1}, {Ops: 1}}, 1
	life.Clients, life.Ticks = []Client{{Ops: 2}, {Ops: 2}}, 4
	apart.Clients, apart.Ticks = []Client{{Ops: 1}, {Region: 1, Skew: 1, Ops: 1}}, 5
	moved.Clients, moved.Repeats = []Client{{Region: 1, Ops: 1}, {Region: 1, Ops: 1}}, 0
	moved.Resources = []Resource{{"r", 0}, {"s", 0}}
	moved.StampSkew, moved.TransferWait, moved.Ticks = nil, 3, 6
	dead.Ticks, dead.Repeats = 8, 0
	shelf.Clients, shelf.Ticks, shelf.Repeats = []Client{{Ops: 1, Only: "k"}, {Ops: 1, Only: "l"}}, 4, 0
	return map[string]Config{
		"race": race, "again": all["again"], "life": life, "apart": apart, "moved": moved, "dead": dead, "shelf": shelf,
	}
}

// That states which differ in names stand for each other, or in what nobody needs any more, changes neither whether an
// invariant breaks nor after how many moves: with the protocol's rules, and without any one condition of them.
func TestReductionsChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute: run without -short")
	}
	broken := map[string]int{}
	for name, c := range small() {
		for _, without := range append([]string{""}, conditions()...) {
			if name == "dead" && without != "" && !strings.HasPrefix(without, "adopt") && !strings.HasPrefix(without, "offered") {
				continue // it takes seconds, and of the rest it has no more than the others
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
	if broken[""] > 0 || len(broken) < 8 {
		t.Errorf("too few mutants, or the protocol itself, break an invariant here: %v", broken)
	}
}

const smallLimit = 400_000

// Where the start has no names in it, there are as many states as those that were looked at stand for.
func TestSymmetriesMissNothing(t *testing.T) {
	for name, c := range small() {
		if name == "again" || testing.Short() && name != "race" {
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
				t.Skip("the start has names in it")
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
				t.Errorf("%d states, but those looked at stand for %d", full.States, stoodFor)
			}
		})
	}
}

// images are the different states that symmetries make of one.
func images(e *explorer, p parts) map[parts]bool {
	all := map[parts]bool{}
	for _, s := range e.group {
		to := parts{}
		e.image(&p, &to, s)
		all[to] = true
	}
	return all
}

// Renaming reaches what the machines keep to themselves, and there and back is nothing.
func TestRename(t *testing.T) {
	c := small()["life"]
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
