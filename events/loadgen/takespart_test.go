package loadgen

import (
	"maps"
	"slices"
	"testing"
)

// TestShown: what impressions are expected to cost is what they and the clicks on them cost in the
// mean.
func TestShown(t *testing.T) {
	expected, impressions := map[string]int64{}, int64(0)
	g := mustNew(t, Config{Seed: 3, StartMs: noon, DuplicateRate: -1, ClickRate: 0.05, Shown: func(_, campaign string, micros int64) {
		expected[campaign] += micros
		impressions++
	}})
	charged := map[string]int64{}
	for i := range 400_000 {
		e := g.Next(noon + int64(i))
		charged[e.GetCampaign()] += e.GetPriceMicros()
	}
	checked := 0
	for id, micros := range charged {
		if micros < 20e6 {
			continue
		}
		if off := float64(expected[id]) / float64(micros); off < 0.8 || off > 1.25 {
			t.Errorf("%s: expected to cost %d, and has cost %d", id, expected[id], micros)
		}
		checked++
	}
	if checked < 2 || impressions != g.Stats().Impressions {
		t.Errorf("%d campaigns, %d impressions of %d", checked, impressions, g.Stats().Impressions)
	}
}

// TestTakesPart: a request goes to a campaign that takes part in its auction, and to none if all
// that it is offered to do not. Requests that no campaign takes are different ones, and no event.
func TestTakesPart(t *testing.T) {
	requests := map[string]bool{}
	open := true
	g := mustNew(t, Config{Seed: 3, StartMs: noon, DuplicateRate: -1, TakesPart: func(account, campaign, request string) bool {
		if account != "acct-000001" && campaign == Campaign(1) {
			t.Fatalf("%s of %s", campaign, account)
		}
		requests[request] = true
		return open && campaign != Campaign(0) && campaign != Campaign(1)
	}})
	counts := map[string]int{}
	ids := map[string]bool{}
	for range 5000 {
		e := g.Next(noon)
		counts[e.GetCampaign()]++
		ids[e.GetEventId()] = true
	}
	if counts[Campaign(0)]+counts[Campaign(1)] > 0 || counts[Campaign(2)] == 0 || len(ids) != 5000 {
		t.Errorf("%v, %d ids", slices.Sorted(maps.Keys(counts))[:3], len(ids))
	}
	g = mustNew(t, g.cfg) // without clicks that are due
	open = false
	clear(requests)
	for range 50 {
		if e := g.Next(noon); e != nil {
			t.Fatalf("an event of nobody: %v", e)
		}
		if b, r := g.Append([]byte("x"), noon); string(b) != "x" || r.Value != nil {
			t.Fatalf("a record of nobody: %q %v", b, r)
		}
	}
	if len(requests) != 100 || g.Stats() != (Stats{}) {
		t.Errorf("%d requests, %+v", len(requests), g.Stats())
	}
	open = true
	if e := g.Next(noon); e == nil || e.GetInsertionId() == "" {
		t.Errorf("afterwards: %v", e)
	}
}
