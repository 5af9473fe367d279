package bridge

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func ids(list []*node) (out []string) {
	for _, n := range list {
		out = append(out, n.ID)
	}
	return out
}

const day = int64(24 * time.Hour / time.Millisecond)

// at returns the id of a shard that was made at ms.
func at(ms int64) string { return fmt.Sprintf("shardId-%020d-0000abcd", ms) }

// TestLineage walks through the rules of lineage one by one.
func TestLineage(t *testing.T) {
	now := 100 * day
	expect := func(l *lineage, want ...string) {
		t.Helper()
		if got := ids(l.ready(now)); !slices.Equal(got, want) {
			t.Errorf("ready: %q, want %q", got, want)
		}
	}
	l := newLineage(nil)
	if n := l.learn([]shard{{ID: "a"}, {ID: "b", Parent: "a"}, {ID: "c", Parent: "b"}}, true, now); len(n.found) != 3 || n.found[0].FoundMs != now {
		t.Errorf("found %v", n.found)
	}
	expect(l, "a") // its child is listed, too: AWS lists it before a is closed
	l.nodes["a"].reading = true
	expect(l)
	l.nodes["a"].reading, l.nodes["a"].FinishedMs = false, now
	expect(l, "b")

	// An unknown parent: two complete listings must lack it, and it must be old.
	l = newLineage(nil)
	young, old := at(now-day/2), at(now-2*day)
	kids := []shard{{ID: "y", Parent: young}, {ID: "z", Parent: old}}
	l.learn(kids, false, now)
	l.learn(kids, false, now)
	expect(l)
	l.learn(kids, true, now)
	if expect(l); !l.needsListing() {
		t.Error("no other listing is needed")
	}
	l.learn(kids, true, now)
	expect(l, "z")
	l.learn(append(kids, shard{ID: young}), true, now) // the parent is listed after all
	expect(l, young, "z")

	// A shard is lost when two listings lack it, but not while it is read.
	l = newLineage([]shard{{ID: "a", After: "1"}, {ID: "b", Parent: "a"}})
	l.nodes["a"].reading = true
	for range 5 {
		if n := l.learn([]shard{{ID: "b", Parent: "a"}}, true, now); len(n.lost) > 0 {
			t.Errorf("%v is lost while it is read", n.lost)
		}
	}
	l.nodes["a"].reading, l.nodes["a"].gone = false, true
	expect(l)
	l.learn([]shard{{ID: "b", Parent: "a"}}, true, now)
	if n := l.learn([]shard{{ID: "b", Parent: "a"}}, true, now); len(n.lost) != 1 || n.lost[0].ID != "a" {
		t.Errorf("lost %v", n.lost)
	}
	expect(l, "b")

	// A finished shard is remembered for two days, and as long as it is listed.
	l = newLineage([]shard{{ID: "a", FinishedMs: now - 3*day}, {ID: "b", FinishedMs: now - 3*day}, {ID: "c", FinishedMs: now - day}})
	if n := l.learn([]shard{{ID: "a"}}, true, now); len(n.forgotten) != 1 || n.forgotten[0].ID != "b" || len(n.found) > 0 {
		t.Errorf("%+v", n)
	}
	expect(l)
}

// TestLineageInAnyOrder holds for random listings, partial and complete: no shard is ready before
// its parent is finished, each shard becomes ready once, and all are read in the end.
func TestLineageInAnyOrder(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var all []shard
		parent := map[string]string{}
		for i := range 2 + rng.IntN(15) {
			s := shard{ID: at(int64(i))}
			if i > 1 {
				s.Parent = all[rng.IntN(len(all))].ID
			}
			all, parent[s.ID] = append(all, s), s.Parent
		}
		l, done := newLineage(nil), map[string]bool{}
		for step := 0; len(done) < len(all); step++ {
			if step > 1000 {
				t.Fatalf("seed %d: %d of %d were read", seed, len(done), len(all))
			}
			nowMs := int64(step)
			if rng.IntN(3) == 0 {
				l.learn(all, true, nowMs)
			} else {
				l.learn(all[rng.IntN(len(all)):], false, nowMs)
			}
			for _, n := range l.ready(nowMs) {
				if p := parent[n.ID]; p != "" && !done[p] {
					t.Fatalf("seed %d: %s is ready before its parent %s", seed, n.ID, p)
				}
				n.reading = true
			}
			for id, n := range l.nodes {
				if n.reading && rng.IntN(2) == 0 {
					if done[id] {
						t.Fatalf("seed %d: %s is read twice", seed, id)
					}
					n.reading, n.FinishedMs, done[id] = false, 1+nowMs, true
				}
			}
			if rng.IntN(10) == 0 { // a restart with the saved shards
				var kept []shard
				for _, n := range l.nodes {
					kept = append(kept, n.shard)
				}
				l = newLineage(kept)
			}
		}
	}
}
