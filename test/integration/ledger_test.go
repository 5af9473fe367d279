package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// account holds the sums of a campaign's events of one budget day and currency.
type account struct {
	micros     int64
	byType     map[eventspb.EventType]uint64
	duplicates uint64
}

func (a *account) String() string {
	return fmt.Sprintf("%d micros, events %v, %d duplicates", a.micros, a.byType, a.duplicates)
}

// place is the key of a row: where an event is charged.
type place struct {
	campaign, account, day, currency string
}

// ledger is a recount of the produced events that is as simple as possible: it keeps every id for
// ever.
type ledger struct {
	seen   map[string]bool
	totals map[place]*account
}

func newLedger() *ledger { return &ledger{seen: map[string]bool{}, totals: map[place]*account{}} }

// add records a produced event.
func (l *ledger) add(e *eventspb.AdEvent) {
	day := fmt.Sprintf("%08d", e.BudgetDay)
	if e.BudgetDay == 0 {
		day = time.UnixMilli(e.EventMs).UTC().Format("20060102")
	}
	at := place{e.Campaign, e.Account, day, e.Currency}
	a := l.totals[at]
	if a == nil {
		a = &account{byType: map[eventspb.EventType]uint64{}}
		l.totals[at] = a
	}
	if id := e.Account + "\x00" + e.EventId; l.seen[id] {
		a.duplicates++
	} else {
		l.seen[id] = true
		a.micros += e.PriceMicros
		a.byType[e.Type]++
	}
}

// campaign returns the sums of a campaign's account over days and currencies.
func (l *ledger) campaign(name, acct string) account {
	sum := account{byType: map[eventspb.EventType]uint64{}}
	for at, a := range l.totals {
		if at.campaign != name || at.account != acct {
			continue
		}
		sum.micros += a.micros
		sum.duplicates += a.duplicates
		for typ, n := range a.byType {
			sum.byType[typ] += n
		}
	}
	return sum
}

// sum returns the totals: charged events, duplicates, micros.
func (l *ledger) sum() (count, duplicates uint64, micros int64) {
	for _, a := range l.totals {
		for _, n := range a.byType {
			count += n
		}
		duplicates += a.duplicates
		micros += a.micros
	}
	return count, duplicates, micros
}

// compare reports each row that differs from the recount.
func (l *ledger) compare(t *testing.T, got map[place]*account) {
	t.Helper()
	if wrong := l.differences(got); len(wrong) > 0 {
		t.Errorf("%d of %d rows are wrong:\n%s", len(wrong), len(l.totals), strings.Join(wrong[:min(10, len(wrong))], "\n"))
		return
	}
	count, duplicates, micros := l.sum()
	t.Logf("exact: %d events, %d duplicates, %d micros in %d rows", count, duplicates, micros, len(l.totals))
}

// differences returns the rows that differ from the recount.
func (l *ledger) differences(got map[place]*account) (wrong []string) {
	for at, want := range l.totals {
		have := got[at]
		switch {
		case have == nil:
			wrong = append(wrong, fmt.Sprintf("%v: missing, want %v", at, want))
		case have.micros != want.micros || have.duplicates != want.duplicates || !maps.Equal(have.byType, want.byType):
			wrong = append(wrong, fmt.Sprintf("%v: %v, want %v", at, have, want))
		}
	}
	for at, have := range got {
		if l.totals[at] == nil {
			wrong = append(wrong, fmt.Sprintf("%v: %v, but nothing was produced for it", at, have))
		}
	}
	return wrong
}

// places returns the keys of the rows, in order.
func (l *ledger) places() []place {
	return slices.SortedFunc(maps.Keys(l.totals), func(a, b place) int {
		return slices.Compare([]string{a.campaign, a.account, a.day, a.currency}, []string{b.campaign, b.account, b.day, b.currency})
	})
}
