package control

import (
	"github.com/cespare/xxhash/v2"
)

// Coin returns a number in [0, 1) for a request and a campaign: the campaign takes part in the
// auction of the request if it is below its probability. It is reproducible, and independent
// between campaigns.
func Coin(request, campaign string) float64 {
	var h xxhash.Digest
	h.Reset()
	_, _ = h.WriteString(request)
	_, _ = h.Write([]byte{0})
	_, _ = h.WriteString(campaign)
	return float64(h.Sum64()>>11) / (1 << 53)
}

// Limits are the parameters of a campaign of which a node above it has a lower one: to raise its
// own has no effect. While the gate above is closed, that are both.
type Limits struct{ Probability, Bids bool }

// LimitsOf returns the limits of a campaign with parameters of its own, by the Least of them and of
// those above. While the gate of the campaign itself is closed, there are none.
func LimitsOf(own, least Params) Limits {
	if !own.Open {
		return Limits{}
	}
	return Limits{
		Probability: !least.Open || least.Probability < own.Probability, Bids: !least.Open || least.Multiplier < own.Multiplier,
	}
}

// Least combines the parameters of a campaign with those of the accounts and shared budgets above
// it: the least of each. Their product would throttle twice for one shortage.
func Least(own Params, above ...Params) Params {
	for _, p := range above {
		own.Probability = min(own.Probability, p.Probability)
		own.Multiplier = min(own.Multiplier, p.Multiplier)
		own.Open = own.Open && p.Open
	}
	return own
}
