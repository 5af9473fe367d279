package api

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// noOwnBudget is the key in PacingCounts.reasons of campaigns that only shared budgets limit.
const noOwnBudget = "no_own_budget"

// Values of PacedBudget.limited_by_kind.
const (
	limitedByShared   = "shared_budget"
	limitedByCampaign = "campaign"
)

// newAccountPacing returns the pacing of an account with at least one pack, with its campaign, or
// with all of them for "". For a campaign that it does not have, it has no campaigns.
func newAccountPacing(list packs, campaign string, nowMs int64) *weirpb.AccountPacing {
	head := list[0] // the part with the campaign, or the oldest one
	counts := &weirpb.PacingCounts{}
	var campaigns []*weirpb.PacedBudget
	days := 0.0
	for _, m := range list {
		if campaign == "" && m.GetAtMs() < head.GetAtMs() {
			head = m
		}
		if s := m.GetPlanShape(); s != nil && !s.GetEven() {
			days = s.GetNow().GetDays()
		}
		for _, n := range m.GetCampaigns() {
			count(counts, n)
			if campaign == "" || n.GetId() == campaign {
				campaigns = append(campaigns, newPacedBudget(n, m.GetAtMs()))
			}
			if n.GetId() == campaign {
				head = m
			}
		}
	}
	out := &weirpb.AccountPacing{
		Account: head.GetAccount(), WriterDc: head.GetWriterDc(), BudgetVersion: head.GetVersion(), Currency: head.GetCurrency(),
		BudgetDay: dayText(head.GetBudgetDay()), BeginMs: head.GetBeginMs(), EndMs: head.GetEndMs(),
		TickMs: head.GetAtMs(), AgeMs: max(0, nowMs-head.GetAtMs()), // the clock of the owner may be ahead
		Dataset: head.GetDataset(), SpendAgeMs: head.GetSpendAgeMs(), PlannedShare: head.GetPlanned(),
		OtherCurrencies: head.GetOtherCurrencies(), Counts: counts, Campaigns: campaigns, Unread: head.GetUnread(),
		PlanDays: days,
	}
	for _, day := range head.GetOtherDays() {
		out.OtherDays = append(out.OtherDays, dayText(day))
	}
	byID := func(a, b *weirpb.PacedBudget) int { return strings.Compare(a.GetId(), b.GetId()) }
	slices.SortFunc(out.Campaigns, byID)
	limits := limitsOf(campaigns)
	for _, m := range list {
		for _, n := range m.GetShared() {
			if campaign == "" || slices.Contains(limits, n.GetId()) {
				out.Shared = append(out.Shared, newPacedBudget(n, m.GetAtMs()))
			}
		}
	}
	slices.SortFunc(out.Shared, byID)
	return out
}

// limitsOf returns the shared budgets that limit campaigns or their arms.
func limitsOf(campaigns []*weirpb.PacedBudget) (ids []string) {
	for _, c := range campaigns {
		for _, b := range append([]*weirpb.PacedBudget{c}, c.GetArms()...) {
			if b.GetLimitedByKind() == limitedByShared {
				ids = append(ids, b.GetLimitedBy())
			}
		}
	}
	return ids
}

// newPacedBudget returns a node of a pack of a time, Unix ms, for an answer.
func newPacedBudget(n *eventspb.PacedNode, atMs int64) *weirpb.PacedBudget {
	out := &weirpb.PacedBudget{
		Id: n.GetId(), Open: n.GetOpen(), Probability: n.GetProbability(), Multiplier: n.GetMultiplier(), Reason: n.GetReason(),
		LimitedBy: n.GetLimitedBy(), SpentMicros: n.GetSpentMicros(), NoBudget: n.GetNoBudget(),
		Override: newCampaignOverride(n.GetOverride()),
	}
	if f := n.GetInFlight(); f != nil {
		out.InFlight = &weirpb.InFlight{Micros: roundMicros(f.GetMicros()), DelayMs: f.GetDelayMs(), Ratio: f.GetRatio()}
	}
	// A tiny budget has an allowance until the next action. What is in no auction spends nothing.
	if n.LastsMs != nil && n.GetOpen() && n.GetReason() != string(control.PausedNow) && !n.GetState().GetTiny() {
		out.RunsOutMs = new(atMs + n.GetLastsMs())
	}
	if day := n.GetNextFlight(); day != 0 {
		out.NextFlight = dayText(day)
	}
	switch n.GetLimitedByKind() {
	case eventspb.LimitedByKind_LIMITED_BY_KIND_UNSPECIFIED:
	case eventspb.LimitedByKind_LIMITED_BY_KIND_SHARED:
		out.LimitedByKind = limitedByShared
	case eventspb.LimitedByKind_LIMITED_BY_KIND_CAMPAIGN:
		out.LimitedByKind = limitedByCampaign
	}
	if s := n.GetState(); s != nil {
		pace := control.Pace{
			Budget: s.GetBudget(), Planned: s.GetPlanned(), AnchorSpent: s.GetAnchorSpent(), AnchorPlanned: s.GetAnchorPlanned(),
		}
		out.Controller = n.GetController()
		out.Budgeted, out.BudgetMicros, out.PlannedMicros = true, n.GetBudgetMicros(), roundMicros(pace.PlannedSpend())
		if s.GetTiny() {
			out.AllowanceMicros = new(roundMicros(s.GetAllowance()))
		}
	}
	for _, arm := range n.GetArms() {
		out.Arms = append(out.Arms, newPacedBudget(arm, atMs))
	}
	return out
}

// roundMicros rounds a sum of the controller, which is at least 0.
func roundMicros(f float64) int64 {
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(math.Round(max(0, f)))
}

// count adds a campaign.
func count(to *weirpb.PacingCounts, n *eventspb.PacedNode) {
	to.Campaigns++
	if n.GetOpen() && n.GetReason() != string(control.PausedNow) {
		to.Open++
	}
	if n.GetLimitedBy() != "" {
		to.Limited++
	}
	reason := n.GetReason()
	if n.GetState() == nil && n.GetOverride() == nil {
		reason = noOwnBudget
	}
	if to.Reasons == nil {
		to.Reasons = map[string]int64{}
	}
	to.Reasons[reason]++
}

// shardCounter counts the campaigns of a partition, pack by pack in the order of their keys, and
// then the accounts that are not paced.
type shardCounter struct {
	out               *weirpb.PacingShard
	nowMs             int64
	account           string          // of the last pack
	seen              map[string]bool // accounts with packs, and those that are counted as not paced
	oldestMs          int64
	writers, datasets map[string]bool
}

func newShardCounter(partition int32, nowMs int64) *shardCounter {
	return &shardCounter{
		out:   &weirpb.PacingShard{Partition: partition, Counts: &weirpb.PacingCounts{}, SharedReasons: map[string]int64{}},
		nowMs: nowMs, seen: map[string]bool{}, writers: map[string]bool{}, datasets: map[string]bool{},
	}
}

func (t *shardCounter) add(m *eventspb.AccountPack) {
	if t.out.Accounts == 0 || m.GetAccount() != t.account {
		t.out.Accounts++
		t.account = m.GetAccount()
		t.seen[t.account] = true
		if m.GetUnread() { // the other parts are written within a minute
			t.out.Unread++
		}
	}
	for _, n := range m.GetCampaigns() {
		count(t.out.Counts, n)
	}
	for _, n := range m.GetShared() {
		if n.GetState() != nil {
			t.out.SharedReasons[n.GetReason()]++
		}
	}
	t.writers[m.GetWriterDc()] = true
	if m.GetDataset() != "" {
		t.datasets[m.GetDataset()] = true
	}
	t.out.SpendAgeMs = max(t.out.SpendAgeMs, m.GetSpendAgeMs())
	if t.out.OldestAccount == "" || m.GetAtMs() < t.oldestMs {
		t.out.OldestAccount, t.oldestMs = m.GetAccount(), m.GetAtMs()
	}
}

// addBudgets adds versions of budgets, in the order of their keys, after all packs.
func (t *shardCounter) addBudgets(entries []Entry) error {
	for _, e := range entries {
		account, version, err := budget.ParseKey(e.Key)
		if err != nil {
			return err
		}
		if t.seen[account] {
			continue
		}
		m := &eventspb.AccountBudgets{}
		if err := proto.Unmarshal(e.Value, m); err != nil {
			return fmt.Errorf("version %d of the budgets of account %q: %w", version, account, err)
		}
		if m.GetEffectiveFromMs() > t.nowMs {
			continue
		}
		t.seen[account] = true
		t.out.NotPaced++
		if t.out.NotPacedAccount == "" {
			t.out.NotPacedAccount = account
		}
	}
	return nil
}

// done returns the counts.
func (t *shardCounter) done() *weirpb.PacingShard {
	t.out.WriterDcs, t.out.Datasets = slices.Sorted(maps.Keys(t.writers)), slices.Sorted(maps.Keys(t.datasets))
	if t.out.OldestAccount != "" {
		t.out.OldestAgeMs = max(0, t.nowMs-t.oldestMs)
	}
	return t.out
}
