package api

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// spendAggregator collects the records of a source and makes one answer of them.
type spendAggregator struct {
	q        spendQuery
	accounts map[string]*accountSpend
}

// accountSpend is the spend of one account: per currency, per day.
type accountSpend struct {
	asOf       *weirpb.AsOf
	currencies map[string]map[int32]*eventspb.Spend
}

func newSpendAggregator(q spendQuery) *spendAggregator {
	return &spendAggregator{q: q, accounts: map[string]*accountSpend{}}
}

// add adds one record. A record that does not match the query, or that comes twice, is a defect of
// the source. Counting it would make a wrong sum, and ignoring it would hide the defect.
func (t *spendAggregator) add(s *eventspb.Spend, at *weirpb.AsOf) error {
	switch {
	case at == nil:
		return sourceBug("a record of campaign %q has no as_of", t.q.campaign)
	case s.GetCampaign() != t.q.campaign:
		return sourceBug("the store returned a record of campaign %[2]q for campaign %[1]q", t.q.campaign, s.GetCampaign())
	case t.q.account != "" && s.GetAccount() != t.q.account:
		return sourceBug("the store returned a record of account %[2]q for account %[1]q", t.q.account, s.GetAccount())
	}
	a := t.accounts[s.GetAccount()]
	if a == nil {
		a = &accountSpend{asOf: at, currencies: map[string]map[int32]*eventspb.Spend{}}
		t.accounts[s.GetAccount()] = a
	}
	days := a.currencies[s.GetCurrency()]
	if days == nil {
		days = map[int32]*eventspb.Spend{}
		a.currencies[s.GetCurrency()] = days
	}
	if days[s.GetBudgetDay()] != nil {
		return sourceBug("the store returned campaign %q, account %q, %s, %s twice", t.q.campaign, s.GetAccount(),
			dayText(s.GetBudgetDay()), s.GetCurrency())
	}
	days[s.GetBudgetDay()] = s
	return nil
}

// pick chooses the one account and the one currency of the query. It looks at all days, so that a
// query is ambiguous on each day or on none, not only on days with two currencies.
func (t *spendAggregator) pick() (account, currency string, err error) {
	accounts := slices.Sorted(maps.Keys(t.accounts))
	if len(accounts) > 1 {
		return "", "", ambiguous("campaign %q exists in %d accounts (%s: %s), whose spend is never summed: set account to one of them",
			t.q.campaign, len(accounts), t.charged(), t.chargedBy(accounts))
	}
	a := t.accounts[accounts[0]]
	currencies := slices.Sorted(maps.Keys(a.currencies))
	if t.q.currency != "" {
		if a.currencies[t.q.currency] == nil {
			return "", "", errorf(connect.CodeNotFound, "campaign %q of account %q has no spend in %s, only in %s: set currency to that",
				t.q.campaign, accounts[0], t.q.currency, listed(currencies))
		}
		return accounts[0], t.q.currency, nil
	}
	if len(currencies) > 1 {
		return "", "", ambiguous(
			"campaign %q of account %q has spend in %d currencies (%s: %s), which are never summed: set currency to one of them",
			t.q.campaign, accounts[0], len(currencies), t.charged(), t.amounts(a))
	}
	return accounts[0], currencies[0], nil
}

// charged names the figures of chargedBy and amounts.
func (t *spendAggregator) charged() string {
	if t.q.day == 0 {
		return "charged"
	}
	return "charged on " + dayText(t.q.day)
}

// chargedBy lists the first accounts with their charges.
func (t *spendAggregator) chargedBy(accounts []string) string {
	var list []string
	for _, account := range accounts[:min(len(accounts), maxListed)] {
		list = append(list, fmt.Sprintf("%q %s", account, t.amounts(t.accounts[account])))
	}
	if n := len(accounts) - maxListed; n > 0 {
		list = append(list, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(list, "; ")
}

// amounts lists the charges of an account in the currencies and on the days of the query.
func (t *spendAggregator) amounts(a *accountSpend) string {
	var list []string
	for _, currency := range slices.Sorted(maps.Keys(a.currencies)) {
		if t.q.currency != "" && currency != t.q.currency {
			continue
		}
		var micros int64
		var sums checkedSums
		for day, s := range a.currencies[currency] {
			for _, dc := range s.GetByDc() {
				if t.q.day == 0 || day == t.q.day {
					sums.micros("charged_micros", &micros, dc.GetChargedMicros())
				}
			}
		}
		amount := render.Money(micros)
		if sums.overflow != "" {
			amount = "more than " + render.Money(math.MaxInt64)
		}
		list = append(list, amount+" "+currency)
	}
	if len(list) == 0 {
		return "nothing in " + t.q.currency
	}
	return strings.Join(list, " and ")
}

// answer makes the response. At least one record was added.
func (t *spendAggregator) answer() (*weirpb.GetSpendResponse, error) {
	account, currency, err := t.pick()
	if err != nil {
		return nil, err
	}
	a := t.accounts[account]
	byDay := a.currencies[currency]
	days := slices.Sorted(maps.Keys(byDay))
	if t.q.day != 0 {
		if byDay[t.q.day] == nil && byDay[0] != nil {
			return nil, errorf(connect.CodeNotFound,
				"campaign %q of account %q has no %s spend on %s that is not closed (spend.retention): omit day for all days, with the sum of the closed days",
				t.q.campaign, account, currency, dayText(t.q.day))
		}
		if byDay[t.q.day] == nil {
			return nil, errorf(connect.CodeNotFound, "campaign %q of account %q has no %s spend on %s, only from %s to %s (%d days): "+
				"set day to one of these; events that were produced just now may not be counted yet",
				t.q.campaign, account, currency, dayText(t.q.day), dayText(days[0]), dayText(days[len(days)-1]), len(days))
		}
		days = []int32{t.q.day}
	}
	sum := newAccountSum(t.q.campaign, account, currency)
	for _, d := range days {
		sum.addDay(byDay[d])
	}
	sum.out.AsOf = proto.CloneOf(a.asOf)
	sum.out.AsOf.EventMs = sum.eventMs
	return sum.done()
}
