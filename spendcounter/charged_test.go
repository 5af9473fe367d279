package spendcounter

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
)

// TestCharged: what Stats reports as charged by currency is what the spend rows of a counter that
// was never restarted add up to, refused and repeated events left out.
func TestCharged(t *testing.T) {
	currencies := map[events.Currency]bool{}
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(t, testConfig(), drawLogs(t, shape{bad: true}))
		r.all()
		want := map[events.Currency]int64{}
		for _, p := range r.store.spends(t) {
			c, err := events.ParseCurrency(p.Currency)
			if err != nil {
				continue // a refund without an event
			}
			for _, by := range p.ByDc {
				want[c] += by.ChargedMicros
			}
		}
		got := map[events.Currency]int64{}
		for _, s := range r.c.Stats().Charged {
			if _, twice := got[s.Currency]; twice {
				t.Fatalf("%s has two sums", s.Currency)
			}
			got[s.Currency] = s.Micros
			currencies[s.Currency] = true
		}
		for c, micros := range want {
			if got[c] != micros {
				t.Fatalf("%s: charged %d, the rows have %d", c, got[c], micros)
			}
			delete(got, c)
		}
		for c, micros := range got {
			if micros != 0 {
				t.Fatalf("%s: charged %d, no row has it", c, micros)
			}
		}
	})
	if len(currencies) < 2 {
		t.Errorf("the logs have the currencies %v, which tests no change of the currency", currencies)
	}
}
