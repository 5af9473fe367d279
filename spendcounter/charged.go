package spendcounter

import (
	"slices"

	"github.com/weirhq/weir/events"
)

// Charge is what a Counter charged in one currency.
type Charge struct {
	Currency events.Currency
	Micros   int64
}

// charged is a sum for each currency. Prices are not negative, so the sums do not fall.
type charged []Charge

func (c *charged) add(currency events.Currency, micros int64) {
	at := slices.IndexFunc(*c, func(s Charge) bool { return s.Currency == currency })
	if at < 0 {
		at = len(*c)
		*c = append(*c, Charge{Currency: currency})
	}
	(*c)[at].Micros += micros
}
