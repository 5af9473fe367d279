package client

import (
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// Mode is how far an answer may be trusted.
type Mode int

// The modes.
const (
	// Normal: the figures are of a healthy dataset, and some seconds old at most.
	Normal Mode = iota
	// Degraded: the figures are older than Config.Stale.
	Degraded
	// FailSafe: the figures are older than Config.Unusable, or of unknown age. Campaigns with a
	// budget are to stop.
	FailSafe
)

// String returns the name of the mode, as the API has it.
func (m Mode) String() string { return [...]string{"normal", "degraded", "fail_safe"}[m] }

// Account is the spend of an account: an answer of a spend cache. It does not change, and may be
// used by several goroutines.
type Account struct {
	// Name is the account.
	Name string
	// Endpoint is the URL of the spend cache that answered.
	Endpoint string
	// Dataset is the datacentre whose counter has counted the figures; empty unless the cache
	// answered in normal mode.
	Dataset string
	// Reason is why this dataset is used, a sentence.
	Reason string

	rows, parts []*weirpb.SpendRow
	byDay       map[dayKey]*weirpb.SpendRow
	header
}

func (a *Account) head() *header { return &a.header }

// dayKey names a campaign day in one currency.
type dayKey struct{ campaign, day, currency string }

// newAccount makes an Account of an answer that has arrived now, to a request of began.
func (c *Client) newAccount(endpoint string, res *weirpb.GetAccountResponse, began time.Time) *Account {
	a := &Account{
		Name: res.GetAccount(), Endpoint: endpoint, Dataset: res.GetChoice().GetDc(), Reason: res.GetChoice().GetReason(),
		rows: res.GetRows(), parts: res.GetParts(), byDay: make(map[dayKey]*weirpb.SpendRow, len(res.GetRows())),
		header: header{mode: FailSafe, fetched: time.Now(), age: -1, stale: c.cfg.Stale, unusable: c.cfg.Unusable},
	}
	for m := Normal; m <= FailSafe; m++ {
		if m.String() == res.GetChoice().GetMode() {
			a.mode = m
		}
	}
	if ms := res.GetChoice().GetAgeMs(); ms >= 0 {
		a.age = time.Duration(ms)*time.Millisecond + a.fetched.Sub(began)
	}
	for _, r := range a.rows {
		a.byDay[dayKey{r.GetCampaign(), r.GetDay(), r.GetCurrency()}] = r
	}
	return a
}

// Spent returns what a campaign has spent on a budget day, YYYY-MM-DD, in a currency, in micros:
// charges less refunds. It is 0 without spend.
func (a *Account) Spent(campaign, day, currency string) (micros int64) {
	r := a.byDay[dayKey{campaign, day, currency}]
	return r.GetChargedMicros() - r.GetRefundedMicros()
}

// Rows returns the campaign days, ordered by campaign, day and currency. The caller must not change
// them. Their account is empty.
func (a *Account) Rows() []*weirpb.SpendRow { return a.rows }

// Parts returns the spend by line item and arm, if Config.Parts is set. The caller must not change
// them.
func (a *Account) Parts() []*weirpb.SpendRow { return a.parts }

// Age returns how old the figures are now: they include everything that the counter had committed
// so long ago. It is negative if the age is not known.
func (a *Account) Age() time.Duration { return a.ageAt(time.Now()) }

// Mode returns how far the figures may be trusted now.
func (a *Account) Mode() Mode { return a.modeAt(time.Now()) }
