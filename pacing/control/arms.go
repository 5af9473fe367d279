package control

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrArms is wrapped by the errors of NewArms.
var ErrArms = errors.New("control: arms")

// Arms are the arms of an experiment on a campaign: several ways to pace it, side by side, each
// with a share of the users and the same share of the budget. An arm has an Observation and a Pace
// of its own. An arm never gets what another one leaves: otherwise the worse one would look
// better.
type Arms struct {
	campaign string
	shares   []float64
}

// NewArms returns the arms of a campaign, by their shares in (0, 1]. A sum below 1 leaves users and
// budget out of the experiment.
func NewArms(campaign string, shares ...float64) (*Arms, error) {
	sum := 0.0
	for i, share := range shares {
		if !(share > 0 && share <= 1) {
			return nil, fmt.Errorf("%w: arm %d of campaign %s has a share of %g: it is above 0 and at most 1", ErrArms, i, campaign, share)
		}
		sum += share
	}
	if len(shares) == 0 || sum > 1+1e-9 {
		return nil, fmt.Errorf("%w: %d arms of campaign %s with a sum of shares of %g: there is at least one, and the sum is at most 1",
			ErrArms, len(shares), campaign, sum)
	}
	return &Arms{campaign: campaign, shares: slices.Clone(shares)}, nil
}

// Budgets returns the budget of each arm, in micros. Their sum is never above the budget of the
// campaign. What is cut off, less than a micro of each arm, belongs to none.
func (a *Arms) Budgets(micros int64) []int64 {
	micros = max(micros, 0)
	budgets, left := make([]int64, len(a.shares)), micros
	for i, share := range a.shares {
		budgets[i] = left
		if f := math.Floor(share * float64(micros)); f < float64(left) {
			budgets[i] = int64(f)
		}
		left -= budgets[i]
	}
	return budgets
}

// Of returns the arm of a user, -1 for a user outside of the experiment. It is reproducible, and
// independent of Coin with the same names.
func (a *Arms) Of(user string) int {
	at := Coin(user, "arm\x00"+a.campaign)
	for i, share := range a.shares {
		if at -= share; at < 0 {
			return i
		}
	}
	return -1
}
