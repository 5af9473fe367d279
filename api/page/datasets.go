package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// maxCompared is the number of campaign days, each in one currency, whose rows are shown of each
// dataset.
const maxCompared = 30

// CampaignDatasets are what each dataset of a datacentre has of a campaign.
type CampaignDatasets struct {
	Now     time.Time
	DC      string // datacentre of the process
	NoCache bool   // the process has no spend cache
	Several bool   // several accounts have the campaign, so no dataset was asked
	Unknown bool   // the days could not be read, and so the account is not known
	// Account and Campaign are the ids, Account empty if it is not known.
	Account, Campaign string
	// Shard are the datasets of the shard of the account, with their rows. Err is why there are
	// none.
	Shard *weirpb.ShardDatasets
	Err   string
}

// Choice is which dataset is used for the account.
func (d *CampaignDatasets) Choice() ChoiceLine {
	c := d.Shard.GetChoice()
	return ChoiceLine{
		Dataset: c.GetDc(), Mode: c.GetMode(), For: "shard " + count(c.GetShard()) + ", which has the account", Reason: c.GetReason(),
		Since: clock(time.UnixMilli(c.GetSinceMs()), d.Now),
	}
}

// Command is the command that prints the rows of all days.
func (d *CampaignDatasets) Command() string {
	account, campaign := "ACCOUNT", "CAMPAIGN"
	if d.Account != "" {
		account = argument(d.Account)
	}
	if d.Campaign != "" {
		campaign = argument(d.Campaign)
	}
	return "weir spend datasets --account " + account + " --campaign " + campaign
}

// argument quotes an id for a shell, if it needs that.
func argument(id string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r)
	}
	if strings.ContainsFunc(id, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(id, "'", `'\''`) + "'"
	}
	return id
}

// Problems returns why datasets cannot be read, and why others are not healthy, each a sentence
// without a full stop.
func (d *CampaignDatasets) Problems() (list []DatasetProblem) {
	for _, one := range d.Shard.GetDatasets() {
		if why := one.GetUnread(); why != "" {
			list = append(list, DatasetProblem{one.GetDc(), "cannot be read now", why})
		}
		if !one.GetHealthy() {
			list = append(list, DatasetProblem{one.GetDc(), "is not healthy", one.GetProblem()})
		}
	}
	return list
}

// DatasetProblem is why a dataset cannot be used.
type DatasetProblem struct{ Dataset, Is, Why string }

// ComparedTable has a row for each campaign day and dataset.
type ComparedTable struct {
	Rows                []ComparedRow
	Currencies, Refunds bool
	Compared            bool   // a dataset is chosen, with which the others are compared
	Currency            string // of all rows; empty if they differ
	More                string // number of campaign days, by currency, that are left out
}

// ComparedRow is what a dataset has of a campaign day.
type ComparedRow struct {
	First             bool // of its campaign day
	Day, Currency     string
	Dataset           string
	Own, Chosen       bool
	Charged, Refunded string
	Events            string
	Missing           string // in place of the figures: the dataset has no row, or was not read
	Compared          string // with the row of the chosen dataset; empty: it is that, or one of them is not known
	Bad               bool   // the row differs, and the dataset is not healthy
}

// dayKey is a campaign day in a currency.
type dayKey struct{ day, currency string }

func keyOf(r *weirpb.SpendRow) dayKey { return dayKey{r.GetDay(), r.GetCurrency()} }

// Table returns the table, the newest day first.
func (d *CampaignDatasets) Table() (t ComparedTable) {
	var keys []dayKey
	seen := map[dayKey]bool{}
	var charged, refunded []int64
	for _, one := range d.Shard.GetDatasets() {
		t.Compared = t.Compared || one.GetChosen()
		for _, r := range one.GetRows() {
			if k := keyOf(r); !seen[k] {
				seen[k] = true
				keys = append(keys, k)
			}
		}
	}
	slices.SortFunc(keys, func(a, b dayKey) int { return cmp.Or(cmp.Compare(b.day, a.day), cmp.Compare(a.currency, b.currency)) })
	if n := len(keys) - maxCompared; n > 0 {
		t.More, keys = count(n), keys[:maxCompared]
	}
	for _, one := range d.Shard.GetDatasets() {
		for _, k := range keys {
			r := rowOf(one, k)
			charged, refunded = append(charged, r.GetChargedMicros()), append(refunded, r.GetRefundedMicros())
			t.Refunds = t.Refunds || r.GetRefundedMicros() != 0
		}
	}
	for _, k := range keys {
		t.Currencies = t.Currencies || k.currency != keys[0].currency
		t.Rows = append(t.Rows, d.compare(k, decimals{places(charged...), places(refunded...)})...)
	}
	if len(keys) > 0 && !t.Currencies {
		t.Currency = keys[0].currency
	}
	return t
}

// rowOf returns the row of a campaign day, nil if the dataset has none.
func rowOf(d *weirpb.Dataset, k dayKey) *weirpb.SpendRow {
	i := slices.IndexFunc(d.GetRows(), func(r *weirpb.SpendRow) bool { return keyOf(r) == k })
	if i < 0 {
		return nil
	}
	return d.GetRows()[i]
}

// decimals are the numbers of decimal places of money.
type decimals struct{ charged, refunded int }

// compare returns the rows of one campaign day.
func (d *CampaignDatasets) compare(k dayKey, places decimals) (rows []ComparedRow) {
	var chosen *weirpb.Dataset
	for _, one := range d.Shard.GetDatasets() {
		if one.GetChosen() {
			chosen = one
		}
	}
	used := rowOf(chosen, k)
	for i, one := range d.Shard.GetDatasets() {
		r := rowOf(one, k)
		row := ComparedRow{
			First: i == 0, Day: k.day, Currency: k.currency, Dataset: one.GetDc(), Own: one.GetDc() == d.DC, Chosen: one.GetChosen(),
			Charged: money(r.GetChargedMicros(), places.charged), Refunded: money(r.GetRefundedMicros(), places.refunded),
			Events: count(r.GetEvents()),
		}
		switch {
		case one.GetUnread() != "":
			row.Missing = "not read"
		case r == nil:
			row.Missing = "no row"
		}
		switch {
		case chosen == nil, one == chosen, one.GetUnread() != "", chosen.GetUnread() != "", r == nil && used == nil:
		case used == nil:
			row.Compared = "more: the chosen one has no row"
		case r == nil:
			row.Compared = "less: it has no row"
		default:
			row.Compared = difference(r, used, places)
		}
		row.Bad = row.Compared != "" && row.Compared != equal && !one.GetHealthy()
		rows = append(rows, row)
	}
	return rows
}

// equal is the text of a row that has the figures of the chosen dataset.
const equal = "equal"

// difference returns what a row has more or less than the row of the chosen dataset.
func difference(r, used *weirpb.SpendRow, places decimals) string {
	var parts []string
	number := func(noun string, has, chosen uint64) {
		switch {
		case has > chosen:
			parts = append(parts, count(has-chosen)+" more "+noun)
		case has < chosen:
			parts = append(parts, count(chosen-has)+" fewer "+noun)
		}
	}
	amount := func(verb string, more int64, places int) {
		switch {
		case more > 0:
			parts = append(parts, money(more, places)+" more "+verb)
		case more < 0:
			parts = append(parts, money(-more, places)+" less "+verb)
		}
	}
	number("events", r.GetEvents(), used.GetEvents())
	amount("charged", r.GetChargedMicros()-used.GetChargedMicros(), places.charged)
	amount("refunded", r.GetRefundedMicros()-used.GetRefundedMicros(), places.refunded)
	number("duplicates", r.GetDuplicates(), used.GetDuplicates())
	if len(parts) == 0 && (r.GetImpressions() != used.GetImpressions() || r.GetClicks() != used.GetClicks()) {
		parts = append(parts, "other types of events")
	}
	return cmp.Or(strings.Join(parts, ", "), equal)
}
