package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// PacingRow is the form of a campaign, an arm or a shared budget for programs.
type PacingRow struct {
	Account       string  `json:"account"`
	Campaign      string  `json:"campaign"`      // empty: a shared budget
	Arm           string  `json:"arm"`           // empty: not an arm
	SharedBudget  string  `json:"shared_budget"` // empty: not a shared budget
	Open          bool    `json:"open"`
	Probability   float64 `json:"probability"`
	Multiplier    float64 `json:"multiplier"`
	Reason        string  `json:"reason"`
	LimitedBy     string  `json:"limited_by"`
	LimitedByKind string  `json:"limited_by_kind"` // shared_budget or campaign; empty: nothing limits it
	Currency      string  `json:"currency"`
	BudgetMicros  *int64  `json:"budget_micros"` // nil: it has no budget of its own
	SpentMicros   int64   `json:"spent_micros"`
	PlannedMicros *int64  `json:"planned_micros"`
	Allowance     *int64  `json:"allowance_micros"` // nil: the budget is not tiny
	NoBudget      string  `json:"no_budget"`
	NextFlight    string  `json:"next_flight"`
	BudgetDay     string  `json:"budget_day"`
	BudgetVersion uint64  `json:"budget_version"`
	PlannedShare  float64 `json:"planned_share"` // of all budgets of the day
	WriterDC      string  `json:"writer_dc"`
	TickMs        int64   `json:"tick_ms"`
	AgeMs         int64   `json:"age_ms"`
	Dataset       string  `json:"dataset"`
	SpendAgeMs    int64   `json:"spend_age_ms"`
	Unread        bool    `json:"unread"`           // the spend was never read, and has no age
	InFlight      *int64  `json:"in_flight_micros"` // nil: no ad server has reported ads of it
	ChargeDelayMs *int64  `json:"charge_delay_ms"`  // mean time from an ad to its known charge
	Explanation   string  `json:"explanation"`
	Controller    string  `json:"controller"`  // empty: it has no budget of its own
	RunsOutMs     *int64  `json:"runs_out_ms"` // nil: a day after the tick or later, or not known
	PlanDays      float64 `json:"plan_days"`   // from which the plan of the day is learnt; 0: it is even
}

// PacingRows returns a row for each campaign, arm and shared budget: an arm behind its campaign,
// and shared budgets at the end of their account.
func PacingRows(list []*weirpb.AccountPacing) []PacingRow {
	rows := []PacingRow{}
	for _, p := range list {
		for _, c := range p.GetCampaigns() {
			row := pacingRow(pacedText{p: p, name: plain(c.GetId()) + " of " + plain(p.GetAccount()), r: c})
			row.Campaign = c.GetId()
			rows = append(rows, row)
			for _, arm := range c.GetArms() {
				row := pacingRow(pacedText{p: p, name: "Arm " + plain(arm.GetId()), r: arm})
				row.Campaign, row.Arm = c.GetId(), arm.GetId()
				rows = append(rows, row)
			}
		}
		for _, s := range p.GetShared() {
			row := pacingRow(sharedText(p, s))
			row.SharedBudget = s.GetId()
			rows = append(rows, row)
		}
	}
	return rows
}

func pacingRow(t pacedText) PacingRow {
	p, r := t.p, t.r
	row := PacingRow{
		Account: p.GetAccount(), Open: r.GetOpen(), Probability: r.GetProbability(), Multiplier: r.GetMultiplier(), Reason: r.GetReason(),
		LimitedBy: r.GetLimitedBy(), LimitedByKind: r.GetLimitedByKind(), Currency: p.GetCurrency(), SpentMicros: r.GetSpentMicros(),
		Allowance: r.AllowanceMicros, NoBudget: r.GetNoBudget(), NextFlight: r.GetNextFlight(), BudgetDay: p.GetBudgetDay(),
		BudgetVersion: p.GetBudgetVersion(), PlannedShare: p.GetPlannedShare(), WriterDC: p.GetWriterDc(), TickMs: p.GetTickMs(),
		AgeMs: p.GetAgeMs(), Dataset: p.GetDataset(), SpendAgeMs: p.GetSpendAgeMs(), Unread: p.GetUnread(),
		Explanation: strings.Join(t.sentences(), " "), Controller: r.GetController(), RunsOutMs: r.RunsOutMs, PlanDays: p.GetPlanDays(),
	}
	if f := r.GetInFlight(); f != nil {
		row.InFlight, row.ChargeDelayMs = new(f.GetMicros()), new(f.GetDelayMs())
	}
	if r.GetBudgeted() {
		row.BudgetMicros, row.PlannedMicros = new(r.GetBudgetMicros()), new(r.GetPlannedMicros())
	}
	return row
}

// PacingTable formats accounts for a terminal: a line for each campaign, arm and shared budget. It
// ends with a newline.
func PacingTable(list []*weirpb.AccountPacing) string {
	t := newTable()
	t.AppendHeader(table.Row{
		"account", "campaign", "arm", "shared budget", "auctions", "bids", "spent", "plan", "budget", "currency", "reason", "limited by",
		"age",
	})
	right(t, 5, 6, 7, 8, 9, 13)
	warnings := ""
	for _, p := range list {
		for _, r := range PacingRows([]*weirpb.AccountPacing{p}) {
			planned, of := "-", "-"
			if r.BudgetMicros != nil {
				planned, of = budget.FormatAmount(RoundCents(*r.PlannedMicros)), budget.FormatAmount(*r.BudgetMicros)
			}
			t.AppendRow(table.Row{
				plain(r.Account), dash(r.Campaign), dash(r.Arm), dash(r.SharedBudget), AuctionsText(r), PercentText(r.Multiplier),
				budget.FormatAmount(r.SpentMicros), planned, of, plain(r.Currency), dash(r.Reason), dash(r.LimitedBy), msText(r.AgeMs),
			})
		}
		for _, w := range PacingWarnings(p) {
			warnings += plain(p.GetAccount()) + ": " + w + "\n"
		}
	}
	return t.Render() + "\n" + warnings
}

// AuctionsText returns in which part of the auctions a campaign takes part: 12.5 %, or none.
func AuctionsText(r PacingRow) string {
	if r.Open && r.Reason != string(control.PausedNow) {
		return PercentText(r.Probability)
	}
	return "none"
}

// dash returns the text, and - if it is empty.
func dash(s string) string { return cmp.Or(plain(s), "-") }

// PacingShardRow is the pacing of a partition.
type PacingShardRow struct {
	Shard         int32        `json:"shard"`
	State         string       `json:"state"`                        // ok, or that of a partition that cannot be read
	Owner         string       `json:"owner"`                        // the process that has answered
	Override      string       `json:"override_leader" table:"wide"` // the process that is to lead it by an override; empty: none
	OverrideUntil string       `json:"override_until" table:"wide"`  // RFC 3339
	Accounts      int64        `json:"accounts"`
	Campaigns     int64        `json:"campaigns"`
	Open          int64        `json:"open"`
	Closed        int64        `json:"closed"`
	Limited       int64        `json:"limited"`
	Reasons       ReasonCounts `json:"reasons"`
	SharedReasons ReasonCounts `json:"shared_reasons" table:"wide"` // shared budgets by reason
	OldestSeconds float64      `json:"oldest_seconds"`              // age of the oldest parameters
	OldestAccount string       `json:"oldest_account" table:"wide"`
	SpendSeconds  float64      `json:"spend_age_seconds"`
	Unread        int64        `json:"unread" table:"wide"`            // accounts whose spend was never read
	NotPaced      int64        `json:"not_paced" table:"wide"`         // accounts with budgets in force and without packs
	NotPacedFirst string       `json:"not_paced_account" table:"wide"` // one of them
	Datasets      []string     `json:"datasets" table:"wide"`
	Writers       []string     `json:"writers"`
	Problem       string       `json:"problem"` // empty: none is known
}

// ReasonCounts are campaigns by reason.
type ReasonCounts map[string]int64

// String returns the reasons, the most frequent one first: behind_plan 12, budget_spent 3.
func (c ReasonCounts) String() string {
	names := slices.SortedFunc(maps.Keys(c), func(a, b string) int { return cmp.Or(cmp.Compare(c[b], c[a]), strings.Compare(a, b)) })
	for i, n := range names {
		names[i] = fmt.Sprintf("%s %d", plain(n), c[n])
	}
	return strings.Join(names, ", ")
}

// PacingShardRows returns a row for each partition, also for those that cannot be read.
func PacingShardRows(res *weirpb.GetPacingStatusResponse) []PacingShardRow {
	rows := []PacingShardRow{}
	for _, s := range res.GetShards() {
		c := s.GetCounts()
		row := PacingShardRow{
			Shard: s.GetPartition(), State: "ok", Owner: s.GetAsOf().GetServedBy().GetInstance(), Accounts: s.GetAccounts(),
			Campaigns: c.GetCampaigns(), Open: c.GetOpen(), Closed: c.GetCampaigns() - c.GetOpen(), Limited: c.GetLimited(),
			Reasons: orEmpty(c.GetReasons()), SharedReasons: orEmpty(s.GetSharedReasons()),
			OldestSeconds: tenths(s.GetOldestAgeMs()), OldestAccount: s.GetOldestAccount(),
			SpendSeconds: tenths(s.GetSpendAgeMs()), Unread: s.GetUnread(), NotPaced: s.GetNotPaced(),
			NotPacedFirst: s.GetNotPacedAccount(), Datasets: append([]string{}, s.GetDatasets()...),
			Writers: append([]string{}, s.GetWriterDcs()...), Problem: cmp.Or(shardProblem(s), notLed(s, time.Now().UnixMilli())),
		}
		if o := s.GetOverride(); o != nil {
			row.Override, row.OverrideUntil = o.GetLeader(), secondText(o.GetUntilMs())
		}
		rows = append(rows, row)
	}
	for _, g := range res.GetGaps() {
		rows = append(rows, PacingShardRow{
			Shard: g.GetPartition(), State: g.GetState(), Reasons: ReasonCounts{}, SharedReasons: ReasonCounts{},
			Datasets: []string{}, Writers: []string{}, Problem: cmp.Or(g.GetReason(), "it cannot be read now"),
		})
	}
	slices.SortFunc(rows, func(a, b PacingShardRow) int { return cmp.Compare(a.Shard, b.Shard) })
	return rows
}

// shardProblem returns the worst that is known of a partition.
func shardProblem(s *weirpb.PacingShard) string {
	by := s.GetAsOf().GetServedBy()
	reasons, shared := s.GetCounts().GetReasons(), s.GetSharedReasons()
	switch old, stop, hold := s.GetOldestAgeMs(), string(control.TooOld), string(control.Stale); {
	case by.GetStopped() != "":
		return "stopped: " + by.GetStopped()
	case old >= OldPacing.Milliseconds():
		return fmt.Sprintf("the parameters of %s are %s old", s.GetOldestAccount(), msText(old))
	case s.GetUnread() > 0:
		return fmt.Sprintf("accounts whose spend was never read, whose campaigns with a budget stop: %d", s.GetUnread())
	case reasons[stop] > 0:
		return fmt.Sprintf("campaigns that have stopped, because their spend is too old: %d", reasons[stop])
	case shared[stop] > 0:
		return fmt.Sprintf("shared budgets that have stopped with their campaigns, because their spend is too old: %d", shared[stop])
	case s.GetNotPaced() > 0:
		return fmt.Sprintf("accounts with budgets that are not paced: %d, such as %s; a new one is paced within ten seconds",
			s.GetNotPaced(), s.GetNotPacedAccount())
	case reasons[hold] > 0:
		return fmt.Sprintf("campaigns whose parameters stay, because their spend is old: %d", reasons[hold])
	case shared[hold] > 0:
		return fmt.Sprintf("shared budgets whose parameters stay, because their spend is old: %d", shared[hold])
	case by.GetRole() == standbyRole:
		return "read from a standby, at most " + (time.Duration(by.GetStalenessMs()) * time.Millisecond).String() + " old"
	}
	return ""
}

// PacingSummary returns the figures of all partitions together.
func PacingSummary(rows []PacingShardRow) string {
	var sum PacingShardRow
	unread, problems := 0, 0
	for i := range rows {
		r := &rows[i]
		sum.Accounts, sum.Campaigns, sum.Open = sum.Accounts+r.Accounts, sum.Campaigns+r.Campaigns, sum.Open+r.Open
		sum.NotPaced += r.NotPaced
		if r.State != "ok" {
			unread++
		}
		if r.Problem != "" {
			problems++
		}
	}
	text := fmt.Sprintf("accounts: %d; campaigns: %d; that take part in auctions: %d", sum.Accounts, sum.Campaigns, sum.Open)
	if sum.NotPaced > 0 {
		text += fmt.Sprintf("; accounts with budgets that are not paced: %d", sum.NotPaced)
	}
	if unread > 0 {
		text += fmt.Sprintf("; shards that cannot be read, which are not in these figures: %d", unread)
	}
	if problems > 0 {
		text += fmt.Sprintf("; shards with a problem: %d of %d", problems, len(rows))
	}
	return text
}
