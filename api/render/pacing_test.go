package render

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// paced is a campaign with a budget of 100 EUR that is in force with a probability.
func paced(reason string, spent, planned int64, probability float64) *weirpb.PacedBudget {
	return &weirpb.PacedBudget{
		Id: "spring", Open: true, Probability: probability, Multiplier: 1, Reason: reason, Budgeted: true, BudgetMicros: 100_000_000,
		SpentMicros: spent, PlannedMicros: planned,
	}
}

func accountOf(campaigns ...*weirpb.PacedBudget) *weirpb.AccountPacing {
	end := time.Date(2026, 11, 27, 23, 0, 0, 0, time.UTC).UnixMilli()
	return &weirpb.AccountPacing{
		Account: "acme", WriterDc: "us", BudgetVersion: 3, Currency: "EUR", BudgetDay: "2026-11-27", TickMs: end - 3600_000, EndMs: end, AgeMs: 4000,
		Dataset: "eu", SpendAgeMs: 45_000, Campaigns: campaigns,
	}
}

// with changes a campaign.
func with(b *weirpb.PacedBudget, change func(*weirpb.PacedBudget)) *weirpb.PacedBudget {
	change(b)
	return b
}

// closed has a closed gate.
func closed(b *weirpb.PacedBudget) *weirpb.PacedBudget {
	return with(b, func(b *weirpb.PacedBudget) { b.Open = false })
}

// without has no budget on the day, for a reason.
func without(why, next string) *weirpb.PacedBudget {
	return closed(with(paced("no_budget", 0, 0, 1), func(b *weirpb.PacedBudget) { b.BudgetMicros, b.NoBudget, b.NextFlight = 0, why, next }))
}

// TestPacingSentences: each reason has its sentences, and none of them contradicts its figures.
func TestPacingSentences(t *testing.T) {
	limit := func(b *weirpb.PacedBudget) { b.LimitedBy = "brand" }
	for name, c := range map[string]struct {
		b    *weirpb.PacedBudget
		want string
	}{
		"ahead": {paced("ahead_of_plan", 41_200_000, 37_500_000, 0.125), "takes part in 12.5 % of auctions with full bids. " +
			"It has spent 41.20 of 100.00 EUR today, and the plan is 37.50 (37.5 %): it is ahead of its plan, and its probability follows the rest of the budget."},
		"ahead, in flight": {paced("ahead_of_plan", 37_000_000, 37_500_000, 0.125), "takes part in 12.5 % of auctions with full bids. " +
			"It has spent 37.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): with the ads that were shown and are not charged yet, " +
			"it is ahead of its plan, and its probability follows the rest of the budget."},
		"ahead, reported": {
			with(paced("ahead_of_plan", 41_200_000, 37_500_000, 0.125), func(b *weirpb.PacedBudget) {
				b.InFlight = &weirpb.InFlight{Micros: 1_234_567, DelayMs: 115_000, Ratio: 0.9}
			}),
			"takes part in 12.5 % of auctions with full bids. It has spent 41.20 of 100.00 EUR today, 1.23 more is in flight (charged after " +
				"115s on average), and the plan is 37.50 (37.5 %): it is ahead of its plan, and its probability follows the rest of the budget.",
		},
		"as soon as possible": {
			with(paced("ahead_of_plan", 41_200_000, 37_500_000, 1), func(b *weirpb.PacedBudget) {
				b.Controller, b.RunsOutMs = "asap", new(time.Date(2026, 11, 27, 17, 40, 12, 0, time.UTC).UnixMilli())
			}),
			"takes part in every auction with full bids. It has spent 41.20 of 100.00 EUR today, and its controller spends the budget as soon " +
				"as possible. If the spend continues at its mean rate, its budget, or one above it, is spent at 2026-11-27 17:40:12 UTC.",
		},
		"lasts": {
			with(paced("behind_plan", 30_000_000, 37_500_000, 0.5), func(b *weirpb.PacedBudget) {
				b.Controller, b.RunsOutMs = "ratio", new(time.Date(2026, 11, 27, 21, 0, 0, 0, time.UTC).UnixMilli())
			}),
			"takes part in 50 % of auctions with full bids. It has spent 30.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): " +
				"it is behind its plan, and its probability follows the rest of the budget.",
		},
		"behind": {paced("behind_plan", 30_000_001, 37_512_345, 0.0001), "takes part in 0.01 % of auctions with full bids. " +
			"It has spent 30.000001 of 100.00 EUR today, and the plan is 37.51 (37.5 %): it is behind its plan, and its probability follows the rest of the budget."},
		"behind, full": {paced("behind_plan", 30_000_000, 37_500_000, 1), "takes part in every auction with full bids. " +
			"It has spent 30.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): it is behind its plan, and nothing holds it back: " +
			"there are too few auctions, or its bids win too few of them."},
		"behind, bids": {
			with(paced("behind_plan", 30_000_000, 37_500_000, 1), func(b *weirpb.PacedBudget) { b.Multiplier = 0.85 }),
			"takes part in every auction with bids of 85 %. It has spent 30.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): " +
				"it is behind its plan, and the factor of its bids follows the rest of the budget.",
		},
		"behind, limited": {with(paced("behind_plan", 30_000_000, 37_500_000, 0.5), limit), "takes part in 50 % of auctions with full bids. " +
			"It has spent 30.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): it is behind its plan, but its own probability does not rise " +
			"while the shared budget brand limits it. It is limited by the shared budget brand, whose parameters are lower than its own."},
		"ahead, limited": {with(paced("ahead_of_plan", 40_000_000, 37_500_000, 0.5), limit), "takes part in 50 % of auctions with full bids. " +
			"It has spent 40.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): it is ahead of its plan, and its own probability follows the rest of the budget. " +
			"It is limited by the shared budget brand, whose parameters are lower than its own."},
		"closed by another": {
			closed(with(paced("behind_plan", 30_000_000, 37_500_000, 1), limit)),
			"takes part in no auction: the gate of the shared budget brand is closed. It has spent 30.00 of 100.00 EUR today, and the plan is " +
				"37.50 (37.5 %): it is behind its plan, but its own probability does not rise while the shared budget brand limits it. " +
				"It is limited by the shared budget brand, whose parameters are lower than its own.",
		},
		"spent": {closed(paced("budget_spent", 100_200_000, 60_000_000, 0.5)), "takes part in no auction: the budget of the day is spent. " +
			"It has spent 100.20 of 100.00 EUR today. The gate opens again on the next day with a budget, or with a higher budget."},
		"spent, in flight": {closed(paced("budget_spent", 99_900_000, 60_000_000, 0.5)), "takes part in no auction: the budget of the day is spent. " +
			"It has spent 99.90 of 100.00 EUR today. The rest is for ads that were shown and are not charged yet, or is a refund of less than " +
			"0.5 % of the budget. The gate opens again on the next day with a budget, or with a higher budget."},
		"no flight": {without("no_flight", "2026-12-24"), "takes part in no auction: it has no budget on this day. " +
			"None of its flights has the day 2026-11-27: the next one begins on 2026-12-24."},
		"ended": {without("no_flight", ""), "takes part in no auction: it has no budget on this day. " +
			"None of its flights has the day 2026-11-27, and none follows: `weir budget set` adds one."},
		"zero": {without("amount_zero", ""), "takes part in no auction: it has no budget on this day. " +
			"Its budget is set to 0: `weir budget set` changes it."},
		"lifetime": {without("period_spent", ""), "takes part in no auction: it has no budget on this day. " +
			"Its budget for the lifetime or the month was spent on earlier days: `weir budget set` raises it."},
		"not known": {without("not_known", ""), "takes part in no auction: it has no budget on this day. " +
			"Its budget of the day depends on the spend of earlier days, which could not be read yet."},
		"no budget": {without("", ""), "takes part in no auction: it has no budget on this day. " +
			"Its budget of the day is 0; it has spent 0.00 EUR."},
		"hold": {paced("stale_hold", 41_200_000, 37_500_000, 0.125), "takes part in 12.5 % of auctions with full bids. " +
			"It has spent 41.20 of 100.00 EUR today by what is known, and that is 45s old: the probability and the bids stay as they are, " +
			"and the spend since then is estimated."},
		"stop": {closed(paced("stale_stop", 41_200_000, 37_500_000, 0.125)), "takes part in no auction: its spend is not known. " +
			"It has spent 41.20 of 100.00 EUR today by what is known, and that is 45s old: campaigns with a budget wait for newer spend; " +
			"`weir spend datasets` shows what is missing."},
		"paused": {paced("paused", 41_200_000, 37_500_000, 0.125), "takes part in no auction: it is paused. " +
			"It has spent 41.20 of 100.00 EUR today. Its probability of 12.5 % stays until it continues."},
		"stopped": {
			with(closed(paced("paused", 41_200_000, 37_500_000, 0.125)), func(b *weirpb.PacedBudget) {
				b.Override = &weirpb.CampaignOverride{Who: "ana", Why: "wrong creative", UntilMs: 1_795_867_200_000}
			}),
			"takes part in no auction: it is paused. It has spent 41.20 of 100.00 EUR today. Its probability of 12.5 % stays until it continues. " +
				"ana has stopped it until 2026-11-28 12:00:00 UTC: wrong creative.",
		},
		"override": {
			with(paced("override", 41_200_000, 37_500_000, 0.3), func(b *weirpb.PacedBudget) {
				b.Override = &weirpb.CampaignOverride{Probability: 0.3, UntilMs: 1_795_867_200_000}
			}),
			"takes part in 30 % of auctions with full bids. It has spent 41.20 of 100.00 EUR today. Its controller waits until the override ends. " +
				"An operator has set its probability to 30 % until 2026-11-28 12:00:00 UTC.",
		},
		"first": {paced("first_tick", 0, 0, 0.1), "takes part in 10 % of auctions with full bids. " +
			"It has spent 0.00 of 100.00 EUR today. It was the first tick of its day, or of a new controller: from the next one on its parameters follow the plan."},
		"tiny": {
			with(paced("tiny_budget", 35_000_000, 37_500_000, 1), func(b *weirpb.PacedBudget) { b.AllowanceMicros = new(int64(8_000_000)) }),
			"takes part in every auction with full bids. It has spent 35.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %). " +
				"The budget is less than 20 actions, so the gate opens for one action after the other; until the next tick 8.00 EUR may be spent.",
		},
		"tiny, closed": {
			closed(paced("tiny_budget", 40_000_000, 37_500_000, 1)),
			"takes part in no auction: its plan does not allow the next action yet. It has spent 40.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %). " +
				"The budget is less than 20 actions, so the gate opens for one action after the other; until the next tick 0.00 EUR may be spent.",
		},
		"earlier": {paced("earlier_day", 41_200_000, 37_500_000, 0.125), "takes part in 12.5 % of auctions with full bids. " +
			"It has spent 41.20 of 100.00 EUR today. The spend of the last tick was of an earlier budget day, and has changed nothing."},
		"no own budget": {
			&weirpb.PacedBudget{Id: "spring", Open: true, Probability: 0.5, Multiplier: 1, SpentMicros: 3_000_000, LimitedBy: "brand"},
			"takes part in 50 % of auctions with full bids. It has no budget of its own, and has spent 3.00 EUR today: only the budgets above limit it. " +
				"It is limited by the shared budget brand, whose parameters are lower than its own.",
		},
		"new reason": {paced("night\x1b", 41_200_000, 37_500_000, 0.125), "takes part in 12.5 % of auctions with full bids. " +
			`It has spent 41.20 of 100.00 EUR today. The reason is "night\x1b", which this version of weir does not know.`},
		"closed, new reason": {closed(paced("night", 0, 0, 0.125)), "takes part in no auction: its gate is closed. " +
			`It has spent 0.00 of 100.00 EUR today. The reason is "night", which this version of weir does not know.`},
	} {
		want := "spring of acme " + c.want
		if got := PacingRows([]*weirpb.AccountPacing{accountOf(c.b)})[0].Explanation; got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestPacingText: a campaign has its arms, the budgets that limit it, its time, and warnings.
func TestPacingText(t *testing.T) {
	c := paced("behind_plan", 30_000_000, 37_500_000, 0.5)
	c.Id, c.LimitedBy = "spr\x1bing", "brand"
	arm := with(paced("budget_spent", 50_000_000, 18_000_000, 0.5), func(b *weirpb.PacedBudget) { b.Id, b.BudgetMicros = "new", 50_000_000 })
	other := with(paced("behind_plan", 1_000_000, 18_000_000, 0.25), func(b *weirpb.PacedBudget) { b.Id, b.LimitedBy, b.LimitedByKind = "old", c.Id, "campaign" })
	c.Arms = []*weirpb.PacedBudget{closed(arm), other}
	p := accountOf(c)
	p.Shared = []*weirpb.PacedBudget{with(paced("ahead_of_plan", 90_000_000, 37_500_000, 0.5), func(b *weirpb.PacedBudget) { b.Id = "brand" })}
	p.AgeMs, p.OtherCurrencies, p.OtherDays = 14*60_000, []string{"JPY", "USD"}, []string{"2026-11-28", "2026-11-29"}
	want := strings.Join([]string{
		`spr\x1bing of acme takes part in 50 % of auctions with full bids.`,
		`It has spent 30.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): it is behind its plan, but its own probability does not rise while the shared budget brand limits it.`,
		`It is limited by the shared budget brand, whose parameters are lower than its own.`,
		`  Arm new takes part in no auction: the budget of the day is spent. It has spent 50.00 of 50.00 EUR today. The gate opens again on the next day with a budget, or with a higher budget.`,
		`  Arm old takes part in 25 % of auctions with full bids. It has spent 1.00 of 100.00 EUR today, and the plan is 18.00 (18 %): it is behind its plan, but its own probability does not rise while its campaign limits it. It is limited by its campaign, whose parameters are lower than its own.`,
		`The shared budget brand lets its campaigns take part in 50 % of auctions with full bids.`,
		`It has spent 90.00 of 100.00 EUR today, and the plan is 37.50 (37.5 %): it is ahead of its plan, and its probability follows the rest of the budget.`,
		`as of 2026-11-27 22:00:00 UTC, 14m ago: by the controller of us, with spend of the dataset of eu that was 45s old then, and version 3 of the budgets; the budget day 2026-11-27 ends at 2026-11-27 23:00:00 UTC`,
		"warning: the parameters are 14m old, and a controller writes them once per minute: `weir pacing status` shows whether it runs",
		`warning: the spend in JPY, USD on this day is not counted, because the budgets are in EUR`,
		`warning: spend of later days, 2026-11-28, 2026-11-29, is not counted on the budget day 2026-11-27: let ad servers stamp budget_day ` +
			`with the day in the account's time zone; without it, the day is that of UTC`, "",
	}, "\n")
	if got := PacingText(p); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	p.AgeMs, p.OtherCurrencies, p.OtherDays, p.Unread = 4000, nil, nil, true
	c.Reason = "stale_stop"
	for _, want := range []string{
		"\nIts spend was never read, by this controller or one before: campaigns with a budget wait for the spend; " +
			"`weir spend datasets` shows what is missing.\n",
		"4s ago: by the controller of us, without any spend, and version 3 of the budgets",
		"\nwarning: the spend of the account was never read, so that its campaigns with a budget stop: " +
			"`weir spend datasets` shows whether a dataset can be read\n",
	} {
		if got := PacingText(p); !strings.Contains(got, want) || strings.Contains(got, "45s") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	c.Reason, other.LimitedByKind = "behind_plan", "shared_budget" // of the campaign's id
	if got := PacingText(p); !strings.Contains(got, `It is limited by the shared budget spr\x1bing, whose parameters`) {
		t.Error(got)
	}
	other.LimitedByKind = "campaign"
	p.AgeMs, p.Unread, p.Dataset = 70_000, false, ""
	if got := PacingText(p); strings.Contains(got, "warning") || !strings.Contains(got, "with spend of several datasets") {
		t.Error(got)
	}

	rows := PacingRows([]*weirpb.AccountPacing{p, accountOf(&weirpb.PacedBudget{Id: "x"})})
	if len(rows) != 5 || rows[1].Arm != "new" || rows[1].Campaign != c.Id || rows[3].SharedBudget != "brand" || rows[3].Campaign != "" ||
		*rows[0].BudgetMicros != 100_000_000 || rows[2].LimitedByKind != "campaign" || rows[4].BudgetMicros != nil || rows[4].PlannedMicros != nil {
		t.Errorf("%+v", rows)
	}
	table := PacingTable([]*weirpb.AccountPacing{p, accountOf(paced("paused", 0, 0, 0.5))})
	for _, want := range []string{
		"acme     spr\\x1bing  -    -                  50 %  100 %  30.00  37.50  100.00  EUR       behind_plan    brand       70s\n",
		"acme     spr\\x1bing  new  -                  none  100 %  50.00  18.00   50.00  EUR       budget_spent   -           70s\n",
		"acme     -           -    brand              50 %  100 %  90.00  37.50  100.00  EUR       ahead_of_plan  -           70s\n",
		"acme     spring      -    -                  none  100 %   0.00   0.00  100.00  EUR       paused         -            4s\n",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("no %sin\n%s", want, table)
		}
	}
}

// TestPacingShards: each shard has the worst that is known of it, and the summary has them all.
func TestPacingShards(t *testing.T) {
	shard := func(p int32, ageMs int64, by *weirpb.ServedBy, reasons map[string]int64) *weirpb.PacingShard {
		n := int64(0)
		for _, k := range reasons {
			n += k
		}
		return &weirpb.PacingShard{
			Partition: p, Accounts: 1, Counts: &weirpb.PacingCounts{Campaigns: n, Open: n - 1, Reasons: reasons}, OldestAccount: "acme",
			OldestAgeMs: ageMs, AsOf: &weirpb.AsOf{ServedBy: by},
		}
	}
	owner := &weirpb.ServedBy{Instance: "weir-0", Role: "owner"}
	res := &weirpb.GetPacingStatusResponse{
		Shards: []*weirpb.PacingShard{
			shard(0, 61_000, owner, map[string]int64{"behind_plan": 2, "budget_spent": 9, "ahead_of_plan": 2}),
			shard(1, 180_000, owner, map[string]int64{"stale_stop": 2}),
			shard(3, 0, owner, map[string]int64{"stale_stop": 2, "stale_hold": 1}),
			shard(4, 0, owner, map[string]int64{"stale_hold": 1}),
			shard(5, 0, &weirpb.ServedBy{Instance: "weir-1", Role: "standby", StalenessMs: 1200}, map[string]int64{"behind_plan": 1}),
			shard(6, 0, &weirpb.ServedBy{Instance: "weir-1", Role: "owner", Stopped: "offset out of range"}, map[string]int64{"behind_plan": 1}),
			shard(7, 0, owner, map[string]int64{"stale_stop": 2}),
			shard(8, 0, owner, map[string]int64{"no_own_budget": 2}),
			shard(9, 0, owner, map[string]int64{"no_own_budget": 2}),
			shard(10, 0, owner, map[string]int64{"behind_plan": 2}),
		},
		Gaps: []*weirpb.Gap{{Partition: 2, State: "restoring", Reason: "42 % done"}},
	}
	res.Shards[6].Unread = 1
	res.Shards[7].SharedReasons = map[string]int64{"stale_stop": 1, "behind_plan": 3}
	res.Shards[8].SharedReasons = map[string]int64{"stale_hold": 1}
	res.Shards[9].NotPaced, res.Shards[9].NotPacedAccount = 3, "bcme"
	rows := PacingShardRows(res)
	for i, want := range []string{
		"", "the parameters of acme are 3m old", "42 % done", "campaigns that have stopped, because their spend is too old: 2",
		"campaigns whose parameters stay, because their spend is old: 1", "read from a standby, at most 1.2s old", "stopped: offset out of range",
		"accounts whose spend was never read, whose campaigns with a budget stop: 1",
		"shared budgets that have stopped with their campaigns, because their spend is too old: 1",
		"shared budgets whose parameters stay, because their spend is old: 1",
		"accounts with budgets that are not paced: 3, such as bcme; a new one is paced within ten seconds",
	} {
		if r := rows[i]; r.Shard != int32(i) || r.Problem != want {
			t.Errorf("%d: %+v, want %q", i, r, want)
		}
	}
	if r := rows[0]; r.State != "ok" || r.Owner != "weir-0" || r.Closed != 1 || r.Open != 12 || r.OldestSeconds != 61 ||
		r.Reasons.String() != "budget_spent 9, ahead_of_plan 2, behind_plan 2" {
		t.Errorf("%+v", r)
	}
	if r := rows[2]; r.State != "restoring" || r.Owner != "" {
		t.Errorf("%+v", r)
	}
	if got, want := PacingSummary(rows), "accounts: 10; campaigns: 29; that take part in auctions: 19; accounts with budgets that are not paced: 3; "+
		"shards that cannot be read, which are not in these figures: 1; "+
		"shards with a problem: 10 of 11"; got != want {
		t.Error(got)
	}
	if got := PacingSummary(rows[:1]); got != "accounts: 1; campaigns: 13; that take part in auctions: 12" {
		t.Error(got)
	}
}
