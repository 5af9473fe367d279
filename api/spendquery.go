package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// maxIDBytes bounds the ids in a request. No record can have a longer id: Kafka keys are far below
// it.
const maxIDBytes = 4096

const dayLayout = "2006-01-02"

// spendQuery is a validated GetSpendRequest.
type spendQuery struct {
	campaign, account, currency string
	day                         int32 // YYYYMMDD; 0: all
	wait                        bool
	counter                     bool // never from the spend cache
	maxStaleness                time.Duration
}

// subject names the campaign and the account in the text of an error.
func (q spendQuery) subject() string {
	if q.account == "" {
		return fmt.Sprintf("campaign %q", q.campaign)
	}
	return fmt.Sprintf("campaign %q of account %q", q.campaign, q.account)
}

func newSpendQuery(m *weirpb.GetSpendRequest) (spendQuery, error) {
	q := spendQuery{campaign: m.GetCampaign(), account: m.GetAccount(), currency: m.GetCurrency(), wait: m.GetWait()}
	var err error
	if q.maxStaleness, err = staleness(m.GetMaxStalenessMs()); err != nil {
		return q, err
	}
	if q.wait && q.maxStaleness > 0 {
		return q, invalid("wait and max_staleness_ms exclude each other: omit one of them")
	}
	if q.campaign == "" {
		return q, invalid("the request has no campaign: set campaign, such as {\"campaign\":\"c1\"}")
	}
	for _, f := range []struct{ name, value string }{{"campaign", q.campaign}, {"account", q.account}} {
		if err := checkID(f.name, f.value); err != nil {
			return q, err
		}
	}
	if err := checkCurrency(q.currency); err != nil {
		return q, err
	}
	if m.GetDay() != "" {
		day, err := parseDay(m.GetDay())
		if err != nil {
			return q, err
		}
		q.day = day
	}
	return q, nil
}

// checkID validates an id of a request. Empty is any.
func checkID(name, id string) error {
	switch {
	case len(id) > maxIDBytes:
		return invalid("%s has %d bytes: use an id of at most %d bytes", name, len(id), maxIDBytes)
	case strings.IndexByte(id, 0) >= 0: // a NUL byte ends an id in the keys of the store
		return invalid("%s %.64q has a NUL byte: remove it", name, id)
	}
	return nil
}

// checkCurrency validates the currency of a request. Empty is any.
func checkCurrency(s string) error {
	if s != "" && !isCurrency(s) {
		return invalid("currency %.16q is not an ISO 4217 code: use three capital letters, such as USD", s)
	}
	return nil
}

func isCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}

func parseDay(s string) (int32, error) {
	t, err := time.Parse(dayLayout, s)
	if err != nil {
		return 0, invalid("day %.32q is not a date: use YYYY-MM-DD, such as 2013-10-19, or omit it for all days", s)
	}
	return int32(t.Year()*10000 + int(t.Month())*100 + t.Day()), nil
}

// parseDays parses the bounds of a list. An empty text means no bound: 0.
func parseDays(from, to string) (first, last int32, err error) {
	if from != "" {
		first, err = parseDay(from)
	}
	if to != "" && err == nil {
		last, err = parseDay(to)
	}
	if err == nil && last != 0 && first > last {
		err = invalid("from %s is later than to %s: exchange the two days", from, to)
	}
	return first, last, err
}

// daysText describes the bounds of a list, with a space before each.
func daysText(first, last int32) (text string) {
	if first != 0 {
		text += " from " + dayText(first)
	}
	if last != 0 {
		text += " to " + dayText(last)
	}
	return text
}

// ClosedDays is the day of the sum of closed days.
const ClosedDays = "closed"

// dayText formats a budget day (YYYYMMDD) as YYYY-MM-DD. The day of a lifetime row is 0.
func dayText(day int32) string {
	if day == 0 {
		return ClosedDays
	}
	return fmt.Sprintf("%04d-%02d-%02d", day/10000, day/100%100, day%100)
}
