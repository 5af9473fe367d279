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
