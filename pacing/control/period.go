package control

import (
	"errors"
	"fmt"
)

// Constants of monthly budgets. They are those of Google Ads: a day may cost up to twice the
// average daily budget, and a month 30.4 times it. Source: About average daily budgets,
// https://support.google.com/google-ads/answer/6385083.
const (
	// DaysPerMonth is 365 / 12, as Google Ads rounds it.
	DaysPerMonth = 30.4
	// MaxCapFactor is the greatest cap of a day, as a multiple of the average daily budget.
	MaxCapFactor = 2.0
)

// ErrCapFactor is wrapped by the error of Monthly.
var ErrCapFactor = errors.New("control: cap factor")

// Period is a budget of more than a day: of the life of a campaign, or of a month.
type Period struct {
	Limit float64 // of the whole period, micros
	Spent float64 // in the period before today, micros, less refunds
	// Today and Rest weigh the days: today, and today with all later days of the period. Hours in
	// which the campaign runs will do, or forecasts of traffic.
	Today, Rest float64
	// Most is the greatest budget of a day, micros. 0: no cap.
	Most float64
}

// Monthly returns the period of an average daily budget, without Spent, Today and Rest, which are
// of a calendar month. factor, 1.0 to 2.0, is by how much a day may be above the average.
//
// The limits are those of Google Ads, and Period.Budget spreads them over the days. If the average
// is changed within a month, set Limit to what was spent so far and the new average for each day
// left.
func Monthly(daily, factor float64) (Period, error) {
	if !(factor >= 1 && factor <= MaxCapFactor) {
		return Period{}, fmt.Errorf("%w %g: it is 1.0 to %.1f", ErrCapFactor, factor, MaxCapFactor)
	}
	return Period{Limit: DaysPerMonth * max(daily, 0), Most: factor * max(daily, 0)}, nil
}

// Budget returns the budget of today, in micros: what is left of the period, by the weight of
// today among the days that are left, and at most the cap. So what a day did not spend is spread
// over all later days, and the last day may spend the rest, up to the cap. Compute it once, at the
// begin of a day: within a day it would change with the spend of earlier days that arrives late.
//
// The sum of all days is never above the limit, as long as no day spends more than its budget; what
// a day overspends is missing on later ones.
func (p Period) Budget() float64 {
	left := p.Limit - p.Spent
	if !(left > 0) || !(p.Today > 0) {
		return 0
	}
	if p.Today < p.Rest {
		left *= p.Today / p.Rest
	}
	if p.Most > 0 {
		left = min(left, p.Most)
	}
	return left
}
