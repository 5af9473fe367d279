package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/plan"
)

// OldPacing is the age from which on parameters are called old. A controller writes them once per
// minute.
const OldPacing = 2 * time.Minute

// PacingText explains in sentences how the first campaign of p is paced: its parameters and their
// reason, its arms, the shared budgets that limit it, and how old all of that is. It ends with a
// newline.
func PacingText(p *weirpb.AccountPacing) string {
	c := p.GetCampaigns()[0]
	lines := pacedText{p: p, name: plain(c.GetId()) + " of " + plain(p.GetAccount()), r: c}.sentences()
	for _, arm := range c.GetArms() {
		line := pacedText{p: p, name: "Arm " + plain(arm.GetId()), r: arm}.sentences()
		lines = append(lines, "  "+strings.Join(line, " "))
	}
	for _, s := range p.GetShared() {
		lines = append(lines, sharedText(p, s).sentences()...)
	}
	lines = append(lines, PacingAsOf(p))
	return strings.Join(append(lines, PacingWarnings(p)...), "\n") + "\n"
}

func sharedText(p *weirpb.AccountPacing, s *weirpb.PacedBudget) pacedText {
	return pacedText{p: p, name: "The shared budget " + plain(s.GetId()), r: s, shared: true}
}

// PacingAsOf returns of what time p is, and from what it was computed.
func PacingAsOf(p *weirpb.AccountPacing) string {
	spend := "with spend of several datasets that was " + msText(p.GetSpendAgeMs()) + " old then"
	switch {
	case p.GetUnread():
		spend = "without any spend"
	case p.GetDataset() != "":
		spend = fmt.Sprintf("with spend of the dataset of %s that was %s old then", plain(p.GetDataset()), msText(p.GetSpendAgeMs()))
	}
	return fmt.Sprintf("as of %s, %s ago: by the controller of %s, %s, and version %d of the budgets; the budget day %s ends at %s",
		utc(p.GetTickMs()), msText(p.GetAgeMs()), plain(p.GetWriterDc()), spend, p.GetBudgetVersion(), plain(p.GetBudgetDay()),
		utc(p.GetEndMs()))
}

// PacingWarnings returns what is wrong with p as a whole.
func PacingWarnings(p *weirpb.AccountPacing) (list []string) {
	if p.GetAgeMs() >= OldPacing.Milliseconds() {
		list = append(list, fmt.Sprintf("warning: the parameters are %s old, and a controller writes them once per minute: "+
			"`weir pacing status` shows whether it runs", msText(p.GetAgeMs())))
	}
	if p.GetUnread() {
		list = append(list, "warning: the spend of the account was never read, so that its campaigns with a budget stop: "+
			"`weir spend datasets` shows whether a dataset can be read")
	}
	if other := p.GetOtherCurrencies(); len(other) > 0 {
		list = append(list, fmt.Sprintf("warning: the spend in %s on this day is not counted, because the budgets are in %s",
			plain(strings.Join(other, ", ")), plain(p.GetCurrency())))
	}
	if other := p.GetOtherDays(); len(other) > 0 {
		list = append(list, fmt.Sprintf("warning: spend of later days, %s, is not counted on the budget day %s: let ad servers stamp "+
			"budget_day with the day in the account's time zone; without it, the day is that of UTC",
			plain(strings.Join(other, ", ")), plain(p.GetBudgetDay())))
	}
	return list
}

// pacedText is a campaign, an arm or a shared budget to explain.
type pacedText struct {
	p      *weirpb.AccountPacing
	name   string // with which a sentence begins
	r      *weirpb.PacedBudget
	shared bool
}

// sentences returns the parameters, their reason, and what limits them, each in a sentence, and for
// how long the budget lasts.
func (t pacedText) sentences() []string {
	verb := " takes part in "
	if t.shared {
		verb = " lets its campaigns take part in "
	}
	list := []string{t.name + verb + t.auctions() + ".", t.why()}
	if t.r.GetLimitedBy() != "" {
		list = append(list, fmt.Sprintf("It is limited by %s, whose parameters are lower than its own.", t.limit()))
	}
	if t.runsEarly() {
		list = append(list, fmt.Sprintf("If the spend continues at its mean rate, its budget, or one above it, is spent at %s.",
			utc(t.r.GetRunsOutMs())))
	}
	if o := t.r.GetOverride(); o != nil {
		list = append(list, overrideText(o))
	}
	return list
}

// runsEarly reports whether the budget does not last for the day.
func (t pacedText) runsEarly() bool {
	return t.r.RunsOutMs != nil && t.r.GetRunsOutMs() < t.p.GetEndMs()-plan.Early.Milliseconds()
}

// auctions describes the parameters.
func (t pacedText) auctions() string {
	switch reason := control.Reason(t.r.GetReason()); {
	case reason == control.PausedNow:
		return "no auction: it is paused"
	case !t.r.GetOpen():
		return "no auction: " + t.closed(reason)
	}
	text := "every auction"
	if t.r.GetProbability() < 1 {
		text = PercentText(t.r.GetProbability()) + " of auctions"
	}
	if t.r.GetMultiplier() < 1 {
		return text + " with bids of " + PercentText(t.r.GetMultiplier())
	}
	return text + " with full bids"
}

// closed returns why the gate is closed.
func (t pacedText) closed(reason control.Reason) string {
	switch {
	case reason == control.Spent:
		return "the budget of the day is spent"
	case reason == control.NoBudget:
		return "it has no budget on this day"
	case reason == control.TooOld:
		return "its spend is not known"
	case t.r.GetLimitedBy() != "":
		return "the gate of " + t.limit() + " is closed"
	case reason == control.TinyNow:
		return "its plan does not allow the next action yet"
	}
	return "its gate is closed"
}

// limit names the budget that limits.
func (t pacedText) limit() string {
	if t.r.GetLimitedByKind() == "campaign" {
		return "its campaign"
	}
	return "the shared budget " + plain(t.r.GetLimitedBy())
}

// why explains the reason of the own parameters.
func (t pacedText) why() string {
	if !t.r.GetBudgeted() && t.r.GetOverride() != nil {
		return fmt.Sprintf("It has no budget of its own, and has spent %s today.", t.money(t.r.GetSpentMicros()))
	}
	if !t.r.GetBudgeted() {
		return fmt.Sprintf("It has no budget of its own, and has spent %s today: only the budgets above limit it.",
			t.money(t.r.GetSpentMicros()))
	}
	reason := control.Reason(t.r.GetReason())
	switch reason {
	case control.Behind, control.Ahead:
		if !control.FollowsPlan(t.r.GetController()) {
			return t.spent() + ", and its controller spends the budget as soon as possible."
		}
		return t.spent() + ", and the plan is " + t.plan() + ": " + t.trend(reason) + "."
	case control.Spent:
		rest := ""
		if t.r.GetSpentMicros() < t.r.GetBudgetMicros() {
			rest = fmt.Sprintf(" The rest is for ads that were shown and are not charged yet, or is a refund of less than %s "+
				"of the budget.", PercentText(control.ReopenShare))
		}
		if t.r.GetInFlight().GetMicros() >= leastInFlight {
			return t.spent() + "." + rest + " The gate opens again when " +
				PercentText(control.ReopenShare) + " of the budget is left, on the next day with a budget, or with a higher budget."
		}
		return t.spent() + "." + rest + " The gate opens again on the next day with a budget, or with a higher budget."
	case control.NoBudget:
		return t.noBudget()
	case control.Stale:
		return t.spent() + fmt.Sprintf(" by what is known, and that is %s old: the probability and the bids stay as they are, "+
			"and the spend since then is estimated.", msText(t.p.GetSpendAgeMs()))
	case control.TooOld:
		if t.p.GetUnread() {
			return "Its spend was never read, by this controller or one before: campaigns with a budget wait for the spend; " +
				"`weir spend datasets` shows what is missing."
		}
		return t.spent() + fmt.Sprintf(" by what is known, and that is %s old: campaigns with a budget wait for newer spend; "+
			"`weir spend datasets` shows what is missing.", msText(t.p.GetSpendAgeMs()))
	case control.PausedNow:
		return t.spent() + fmt.Sprintf(". Its probability of %s stays until it continues.", PercentText(t.r.GetProbability()))
	case control.Override:
		return t.spent() + ". Its controller waits until the override ends."
	case control.FirstTick:
		return t.spent() + ". It was the first tick of its day, or of a new controller: from the next one on its parameters follow the plan."
	case control.TinyNow:
		return t.spent() + fmt.Sprintf(", and the plan is %s. The budget is less than %d actions, so the gate opens for one action "+
			"after the other; until the next tick %s may be spent.", t.plan(), control.TinyActions, t.money(t.r.GetAllowanceMicros()))
	case control.Earlier:
		return t.spent() + ". The spend of the last tick was of an earlier budget day, and has changed nothing."
	}
	return t.spent() + fmt.Sprintf(". The reason is %q, which this version of weir does not know.", t.r.GetReason())
}

// trend returns where the campaign is beside its plan, and what the controller does about it.
func (t pacedText) trend(reason control.Reason) string {
	full, limited := t.r.GetProbability() >= 1, t.r.GetLimitedBy() != ""
	parameter := "its probability"
	switch {
	case limited:
		parameter = "its own probability"
	case full && t.r.GetMultiplier() < 1:
		parameter, full = "the factor of its bids", false
	}
	if reason == control.Ahead {
		inFlight := ""
		if t.r.GetSpentMicros() <= t.r.GetPlannedMicros() {
			inFlight = "with the ads that were shown and are not charged yet, "
		}
		return inFlight + "it is ahead of its plan, and " + parameter + " follows the rest of the budget"
	}
	switch {
	case limited:
		return "it is behind its plan, but " + parameter + " does not rise while " + t.limit() + " limits it"
	case full:
		return "it is behind its plan, and nothing holds it back: there are too few auctions, or its bids win too few of them"
	}
	return "it is behind its plan, and " + parameter + " follows the rest of the budget"
}

// noBudget explains a budget of 0.
func (t pacedText) noBudget() string {
	switch t.r.GetNoBudget() {
	case "no_flight":
		if t.r.GetNextFlight() == "" {
			return fmt.Sprintf("None of its flights has the day %s, and none follows: `weir budget set` adds one.",
				plain(t.p.GetBudgetDay()))
		}
		return fmt.Sprintf("None of its flights has the day %s: the next one begins on %s.", plain(t.p.GetBudgetDay()),
			plain(t.r.GetNextFlight()))
	case "amount_zero":
		return "Its budget is set to 0: `weir budget set` changes it."
	case "period_spent":
		return "Its budget for the lifetime or the month was spent on earlier days: `weir budget set` raises it."
	case "not_known":
		return "Its budget of the day depends on the spend of earlier days, which could not be read yet."
	}
	return fmt.Sprintf("Its budget of the day is 0; it has spent %s.", t.money(t.r.GetSpentMicros()))
}

// spent returns the begin of a sentence: It has spent 41.20 of 100.00 EUR today.
func (t pacedText) spent() string {
	text := fmt.Sprintf("It has spent %s of %s today", budget.FormatAmount(t.r.GetSpentMicros()), t.money(t.r.GetBudgetMicros()))
	if f := t.r.GetInFlight(); f.GetMicros() >= leastInFlight {
		text += fmt.Sprintf(", %s more is in flight (charged after %s on average)", budget.FormatAmount(RoundCents(f.GetMicros())),
			msText(f.GetDelayMs()))
	}
	return text
}

// leastInFlight is the least amount in flight that is written, in micros.
const leastInFlight = 10_000

// plan returns the planned spend: 37.50 (37.5 %).
func (t pacedText) plan() string {
	planned, of := t.r.GetPlannedMicros(), t.r.GetBudgetMicros()
	text := budget.FormatAmount(RoundCents(planned))
	if of > 0 {
		text += " (" + PercentText(float64(planned)/float64(of)) + ")"
	}
	return text
}

func (t pacedText) money(micros int64) string {
	return budget.FormatAmount(micros) + " " + plain(t.p.GetCurrency())
}

// RoundCents rounds an estimate to hundredths of the currency's unit, if it is at least one unit.
func RoundCents(micros int64) int64 {
	const cent, unit = 10_000, 1_000_000
	if micros < unit || micros > 1<<62 {
		return micros
	}
	return (micros + cent/2) / cent * cent
}

// PercentText formats a share with up to three digits: 12.5 %.
func PercentText(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

func utc(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }

func msText(ms int64) string { return ageText(time.Duration(ms) * time.Millisecond) }
