package market

import (
	"math"
	"math/rand/v2"
)

// Size of a market, and of a day.
const (
	campaigns = 80
	segments  = 12

	stepSeconds = 2 // time between two looks at the gates
	daySeconds  = 86_400
	steps       = daySeconds / stepSeconds
	perTick     = 5 // steps of a tick of the controllers

	requestsPerStep = 35   // mean over the day, without the factor of the time of day
	reserve         = 800  // micros
	bidMicros       = 5000 // of the median campaign, for an impression of mean quality
	clickRate       = 0.05
	leastBudget     = 500_000 // micros
)

// campaign is an advertiser's campaign.
type campaign struct {
	clicks    bool    // it pays for clicks, and not for impressions
	bid       float64 // mean value of an impression, micros
	clickRate float64
	delay     float64 // mean seconds from an impression to its charge
	potential float64 // spend of a day without a budget, micros
	budget    float64 // micros
}

// Market is campaigns that compete for the same requests.
type Market struct {
	seed      uint64
	steps     int // of a day that is simulated; less than steps only in tests
	campaigns []campaign
	segments  [segments][]int // indexes of the campaigns that take part in the auctions of a segment
}

// New returns the market of a seed.
func New(seed uint64) *Market { return newMarket(seed, steps) }

// newMarket returns the market of a seed, in which a day ends after a number of steps.
func newMarket(seed uint64, steps int) *Market {
	rng := rand.New(rand.NewPCG(seed, 7))
	w := &Market{seed: seed, steps: steps, campaigns: make([]campaign, campaigns)}
	for i := range w.campaigns {
		c := &w.campaigns[i]
		c.clicks = rng.Float64() < 0.5
		c.bid = bidMicros * math.Exp(0.25*rng.NormFloat64())
		c.clickRate = clickRate * math.Exp(0.4*rng.NormFloat64())
		c.delay = 5 + 25*rng.Float64()
		if c.clicks {
			c.delay = 60 + 120*rng.Float64()
		}
		in := map[int]bool{}
		for range 2 + rng.IntN(5) {
			in[rng.IntN(segments)] = true
		}
		for s := range segments {
			if in[s] {
				w.segments[s] = append(w.segments[s], i)
			}
		}
	}
	unlimited := newDay(w, Run{})
	unlimited.unlimited = true
	unlimited.run()
	for i := range w.campaigns {
		c := &w.campaigns[i]
		c.potential = unlimited.states[i].charged
		c.budget = max(leastBudget, c.potential*(0.1+1.1*rng.Float64()))
	}
	return w
}

// traffic returns the factor of the time of day: 1 in the mean, at most 1.6 at 20 hours.
func traffic(step int) float64 {
	hours := float64(step) * stepSeconds / 3600
	return 1 + 0.6*math.Cos(2*math.Pi*(hours-20)/24)
}

// plans returns the planned share of a day at each step: that of the expected traffic, one hour
// ahead of the end.
func plans() []float64 {
	const end = steps * 23 / 24
	plan := make([]float64, steps+1)
	sum := 0.0
	for i := range plan {
		plan[i] = sum
		sum += traffic(i)
	}
	whole := plan[end]
	for i := range plan {
		plan[i] = min(1, plan[i]/whole)
	}
	return plan
}
