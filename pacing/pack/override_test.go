package pack

import (
	"math"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// TestOverride: an override stops a campaign with its arms, or gives it a probability, until it
// ends. Budgets limit it as before, and the controller continues where it was.
func TestOverride(t *testing.T) {
	campaigns := []budget.Campaign{
		{ID: "a", Limit: daily(100), Arms: []budget.Arm{{ID: "x", PPM: 500_000}, {ID: "y", PPM: 500_000}}},
		{ID: "b", Limit: daily(100)},
		{ID: "free", Shared: "all"},
	}
	a, _ := account(t, 1, []budget.Shared{{ID: "all", Limit: daily(1000)}}, campaigns...)
	at, spent := noon(), 45.0
	step := func(ticks int) {
		t.Helper()
		for range ticks {
			at += tickMs
			spent += 0.01
			tick(t, a, at, row("a", day1, spent), row("b", day1, spent), row("free", day1, spent))
		}
	}
	step(20)
	node := func(id string) *eventspb.PacedNode { return find(t, packs(t, a), id) }
	before, untouched, free := node("a"), node("b").GetProbability(), node("free").GetProbability()
	if !before.GetOpen() || before.GetOverride() != nil {
		t.Fatalf("%v", before)
	}
	give := func(campaign string, probability float64, lasts time.Duration) *eventspb.CampaignOverride {
		return &eventspb.CampaignOverride{
			Account: "acme", Campaign: campaign, Probability: probability, AtMs: at, UntilMs: at + lasts.Milliseconds(), Who: "ana",
		}
	}
	stop := give("a", 0, 5*time.Minute)
	a.SetOverrides([]*eventspb.CampaignOverride{stop, give("gone", 0, time.Hour)})
	step(1)
	got := node("a")
	if got.GetOpen() || got.GetReason() != string(control.PausedNow) || got.GetOverride().GetWho() != "ana" {
		t.Errorf("stopped: %v", got)
	}
	for _, arm := range got.GetArms() {
		if arm.GetOpen() {
			t.Errorf("an arm of a campaign that was stopped: %v", arm)
		}
	}
	if got.GetState().GetProbability() != before.GetState().GetProbability() {
		t.Errorf("the controller goes on: %v, before %v", got.GetState(), before.GetState())
	}
	if got := node("b"); !got.GetOpen() || got.GetReason() == string(control.PausedNow) {
		t.Errorf("another campaign, of probability %g before: %v", untouched, got)
	}
	step(27)
	if node("a").GetOpen() {
		t.Error("it continues before the override has ended")
	}
	// The next owner has not read the override yet, and knows the one before, which was withdrawn.
	// Another owner knows that it was withdrawn.
	takeover := func() *Account {
		next := New("acme", a.pacer)
		next.SetVersions(a.versions)
		next.Restore(packs(t, a))
		return next
	}
	other := takeover()
	a = takeover()
	a.SetOverrides([]*eventspb.CampaignOverride{{Account: "acme", Campaign: "a", AtMs: stop.AtMs - 1, UntilMs: stop.AtMs - 1}})
	step(1)
	if node("a").GetOpen() {
		t.Error("it continues after a takeover")
	}
	withdrawn := &eventspb.CampaignOverride{Account: "acme", Campaign: "a", AtMs: stop.AtMs + 1, UntilMs: stop.AtMs + 1}
	other.SetOverrides([]*eventspb.CampaignOverride{withdrawn})
	tick(t, other, at, row("a", day1, spent), row("b", day1, spent), row("free", day1, spent))
	if got := find(t, packs(t, other), "a"); !got.GetOpen() || got.GetOverride() != nil {
		t.Errorf("it was withdrawn: %v", got)
	}
	step(1)
	if got := node("a"); !got.GetOpen() || got.GetOverride() != nil || got.GetReason() == string(control.PausedNow) {
		t.Errorf("after the end: %v", got)
	}
	step(1)
	if far := math.Abs(math.Log(node("a").GetState().GetProbability() / before.GetState().GetProbability())); far > 2*control.MaxStep {
		t.Errorf("the probability has moved by %g", far)
	}

	rate, chance := node("a").GetState().GetRate(), node("a").GetState().GetProbability()
	a.SetOverrides([]*eventspb.CampaignOverride{give("a", 0.7, time.Hour), give("free", 0.01, time.Hour)})
	step(1)
	if got, want := node("a").GetState().GetRate(), rate*0.7/chance; rate == 0 || math.Abs(got/want-1) > 0.05 {
		t.Errorf("a rate of %g with a probability of 0.7, %g with %g before", got, rate, chance)
	}
	longer := []*eventspb.CampaignOverride{give("a", 0.7, 2*time.Hour), give("free", 0.01, time.Hour)}
	a.SetOverrides(longer)
	a.override()
	if _, n, _ := a.layout.campaignAt("a"); !a.nodes[n].moved() {
		t.Error("a longer override is not written")
	}
	step(1)
	if _, n, _ := a.layout.campaignAt("a"); a.nodes[n].moved() {
		t.Error("it is to be written again")
	}
	got = node("a")
	if !got.GetOpen() || got.GetProbability() != 0.7 || got.GetReason() != string(control.Override) {
		t.Errorf("with a probability of 0.7: %v", got)
	}
	for _, arm := range got.GetArms() {
		if arm.GetProbability() != 0.7 {
			t.Errorf("its arm: %v", arm)
		}
	}
	if got := node("free"); got.GetProbability() != 0.01 || got.GetReason() != string(control.Override) {
		t.Errorf("without a budget of its own, of probability %g before: %v", free, got)
	}
	spent = 100
	step(2)
	if got := node("a"); got.GetOpen() || got.GetReason() != string(control.Spent) {
		t.Errorf("with a spent budget: %v", got)
	}
	a.SetOverrides(nil)
	step(1)
	if got := node("free"); got.GetReason() != "" || got.GetOverride() != nil || got.GetProbability() == 0.01 {
		t.Errorf("after a withdrawal: %v", got)
	}
}
