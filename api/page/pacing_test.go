package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// pacedAccount returns an account with a campaign that has arms below a shared budget, and one
// without a budget of its own.
func pacedAccount() *weirpb.AccountPacing {
	now := time.Date(2026, 11, 23, 15, 15, 20, 0, time.UTC)
	node := func(id string, spent, of int64) *weirpb.PacedBudget {
		return &weirpb.PacedBudget{
			Id: id, Open: true, Probability: 0.125, Multiplier: 1, Reason: "behind_plan", Budgeted: true, BudgetMicros: of, SpentMicros: spent,
			PlannedMicros: of / 2,
		}
	}
	spring := node("c1", 41_200_000, 100_000_000)
	spring.InFlight = &weirpb.InFlight{Micros: 1_234_567, DelayMs: 115_000, Ratio: 0.9}
	spring.LimitedBy, spring.LimitedByKind = "brand", "shared_budget"
	spring.Arms = []*weirpb.PacedBudget{node("new", 20_000_000, 50_000_000)}
	spent := node("c2", 100_200_000, 100_000_000)
	spent.Open, spent.Reason = false, "budget_spent"
	none := &weirpb.PacedBudget{Id: "c3", Open: true, Probability: 1, Multiplier: 0.85, SpentMicros: 5_000_000}
	return &weirpb.AccountPacing{
		Account: "acme", WriterDc: "eu", BudgetVersion: 3, Currency: "EUR", BudgetDay: "2026-11-23", TickMs: now.UnixMilli(), AgeMs: 4000,
		EndMs: now.Add(8 * time.Hour).UnixMilli(), Dataset: "eu", SpendAgeMs: 1200,
		Campaigns: []*weirpb.PacedBudget{spring, spent, none}, Shared: []*weirpb.PacedBudget{node("brand", 90_000_000, 120_000_000)},
	}
}

// paced returns the page of a campaign that is paced.
func paced() *Spend {
	one := pacedAccount()
	one.Campaigns = one.Campaigns[:1]
	return &Spend{
		Now: healthy().Now, Account: "acme", Campaign: "c1", Pacing: &Pacing{Account: one, One: true},
		Days: []*weirpb.SpendRow{{Account: "acme", Campaign: "c1", Day: "2026-11-23", Currency: "EUR", ChargedMicros: 41_200_000, Events: 2_000}},
	}
}

func hostilePacing() *Pacing {
	p := pacedAccount()
	p.Account, p.Currency, p.BudgetDay, p.WriterDc, p.Dataset = hostile, hostile, hostile, hostile, hostile
	p.OtherCurrencies, p.OtherDays = []string{hostile}, []string{hostile}
	for _, n := range append(append(p.Campaigns, p.Shared...), p.Campaigns[0].Arms...) {
		n.Id, n.Reason, n.LimitedBy, n.Override = hostile, hostile, hostile, &weirpb.CampaignOverride{Who: hostile, Why: hostile}
	}
	return &Pacing{Account: p, One: true}
}

// pacingStatus returns two shards, of which one is stopped. owner is its process.
func pacingStatus(owner, reason string) *PacingStatus {
	counts := func(campaigns, open int64, reasons map[string]int64) *weirpb.PacingCounts {
		return &weirpb.PacingCounts{Campaigns: campaigns, Open: open, Reasons: reasons}
	}
	return &PacingStatus{Sampled: Sampled{At: healthy().Now}, Status: &weirpb.GetPacingStatusResponse{
		Shards: []*weirpb.PacingShard{
			{
				Accounts: 1200, Counts: counts(12_000, 11_000, map[string]int64{"behind_plan": 6000, "ahead_of_plan": 5000, "budget_spent": 1000}),
				AsOf: &weirpb.AsOf{ServedBy: &weirpb.ServedBy{Instance: "weir-0", Role: "owner"}},
			},
			{
				Partition: 1, Accounts: 3, Counts: counts(5, 4, map[string]int64{"budget_spent": 1, reason: 4}),
				AsOf: &weirpb.AsOf{ServedBy: &weirpb.ServedBy{Instance: owner, Role: "owner", Stopped: owner + " is full"}},
			},
		},
	}}
}

// TestPacingStatus: the overview has the campaigns of all partitions, and the partitions with a
// problem.
func TestPacingStatus(t *testing.T) {
	o := healthy()
	o.Pacing = pacingStatus("weir-1", "no_own_budget")
	text := section(t, htmlOf(t, o), "pacing")
	for _, want := range []string{
		"11,004 of 12,005 campaigns of 1,203 accounts take part in auctions.", "Shard 1 of weir-1: stopped: weir-1 is full",
		`<td class="text">budget_spent</td><td>1,001</td>`, "Read at 15:15:24",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	for p := range int32(30) {
		o.Pacing.Status.Gaps = append(o.Pacing.Status.Gaps, &weirpb.Gap{Partition: p + 2, State: "restoring"})
	}
	if text := section(t, htmlOf(t, o), "pacing"); strings.Count(text, `class="problem"`) != maxProblems || !strings.Contains(text, "11 more shards") {
		t.Error(text)
	}
	for want, p := range map[string]*PacingStatus{"are being read": {}, "no broker": {Sampled: Sampled{At: o.Now, Err: "no broker"}}, "No account has budgets": {
		Sampled: Sampled{At: o.Now}, Status: &weirpb.GetPacingStatusResponse{},
	}} {
		o.Pacing = p
		if text := section(t, htmlOf(t, o), "pacing"); !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}

// TestPacing: the page of a campaign explains its pacing, and that of an account has a row for each
// campaign, arm and budget. Old parameters are noticed, and what cannot be read has its error.
func TestPacing(t *testing.T) {
	text := section(t, htmlOf(t, paced()), "pacing")
	for _, want := range []string{
		"c1 of acme takes part in 12.5 % of auctions with full bids.", "1.23 more is in flight", "Arm new takes part", "The shared budget brand lets",
		`<meter min="0" max="100000000" value="41200000">41.20 of 100.00</meter>`, ">in flight</th>", "arm <bdi>new</bdi>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	account := &Spend{Now: healthy().Now, Account: "acme", Pacing: &Pacing{Account: pacedAccount()}}
	text = section(t, htmlOf(t, account), "pacing")
	if rows := strings.Count(text, "<tr>") - 1; rows != 5 || strings.Contains(text, "takes part") || !strings.Contains(text, ">bids</th>") ||
		!strings.Contains(text, "<td>none</td>") {
		t.Errorf("%d rows: %s", rows, text)
	}
	account.Pacing.Account.AgeMs = 600_000
	if text := section(t, htmlOf(t, account), "pacing"); !strings.Contains(text, `<p class="bad">warning: the parameters are 10m old`) {
		t.Error(text)
	}
	for n := range 1000 {
		account.Pacing.Account.Campaigns = append(account.Pacing.Account.Campaigns, &weirpb.PacedBudget{Id: fmt.Sprint("x", n)})
	}
	if text := section(t, htmlOf(t, account), "pacing"); !strings.Contains(text, "805 more") || strings.Count(text, "<tr>") != maxPaced+1 {
		t.Errorf("%d rows", strings.Count(text, "<tr>"))
	}
	account.Pacing = &Pacing{Err: "account \"acme\" is not paced"}
	if text := section(t, htmlOf(t, account), "pacing"); !strings.Contains(text, "is not paced") || strings.Contains(text, "<table>") {
		t.Error(text)
	}
}
