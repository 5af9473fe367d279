package loadgen

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/weirhq/weir/events"
)

// campaign holds what the events of a campaign have in common. It fills one cache line, because
// with many campaigns the cache miss for it is most of the cost of an event.
type campaign struct {
	text         [44]byte // the encoded fields account and campaign
	textLen      uint8
	nameFrom     uint8 // index of the campaign's name in text
	profile      uint8 // of the daily cycle
	currency     uint8 // index into Config.Currencies
	perClick     bool  // the campaign pays for clicks, not for impressions
	partition    int16
	account      uint32 // index into Generator.accounts
	medianMicros int64  // price of an impression or, if perClick, of a click
}

// encodedNames returns the encoded fields account and campaign.
func (c *campaign) encodedNames() []byte { return c.text[:c.textLen] }

func (c *campaign) name() string { return string(c.text[c.nameFrom:c.textLen]) }

// A share of perClickShare of the campaigns pays for clicks. A click costs as much as clickFactor
// impressions.
const (
	perClickShare = 0.2
	clickFactor   = 150
)

func newAccounts(n int) [][]byte {
	accounts := make([][]byte, n)
	for i := range accounts {
		accounts[i] = fmt.Appendf(nil, "acct-%06d", i)
	}
	return accounts
}

// newCampaigns returns the campaigns, those with the most traffic first. Campaign r belongs to
// account r modulo the number of accounts, so that each account has some of the large campaigns.
func newCampaigns(cfg Config, accounts [][]byte, rng *rand.Rand) []campaign {
	list := make([]campaign, cfg.campaigns)
	for r := range list {
		c, i := &list[r], r%len(accounts)
		name := Campaign(r)
		text := appendText(c.text[:0], numAccount, accounts[i])
		text = appendText(text, numCampaign, []byte(name))
		c.textLen, c.nameFrom = uint8(len(text)), uint8(len(text)-len(name))
		c.account, c.partition = uint32(i), int16(events.ShardBytes(accounts[i], cfg.Shards))
		c.currency = uint8(i % len(cfg.Currencies))
		const sigma = 0.5 // of the log-normal distribution of medians over campaigns
		c.medianMicros = max(1, int64(math.Round(float64(cfg.MedianMicros)*math.Exp(sigma*rng.NormFloat64()))))
		c.profile = uint8(rng.IntN(profiles))
		if c.perClick = cfg.ClickRate > 0 && rng.Float64() < perClickShare; c.perClick {
			c.medianMicros *= clickFactor
		}
	}
	return list
}

const (
	profiles  = 8
	daySlots  = 96 // quarters of an hour
	dayMs     = 86_400_000
	dayLow    = 0.15    // traffic at the quietest time as a share of the busiest
	fixedOne  = 1 << 16 // 1 in 16-bit fixed point
	quarterMs = dayMs / daySlots
)

// newCycles returns the daily cycle of each profile. Profile p peaks 24/profiles hours after
// profile p-1. A value is the probability, in 16-bit fixed point, that an event drawn for a
// campaign of the profile happens in that quarter of an hour.
func newCycles() (cycles [profiles][daySlots]uint32) {
	for p := range cycles {
		for q := range cycles[p] {
			phase := 2 * math.Pi * (float64(q)/daySlots - float64(p)/profiles)
			level := (1 + math.Cos(phase)) / 2
			cycles[p][q] = uint32(math.Round((dayLow + (1-dayLow)*level*level) * fixedOne))
		}
	}
	return cycles
}

const priceSteps = 1 << 12

// newPrices returns the quantiles of the log-normal distribution with median 1, in 16-bit fixed
// point.
func newPrices() []int64 {
	const sigma = 0.6
	table := make([]int64, priceSteps)
	for i := range table {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/priceSteps-1)
		table[i] = int64(math.Round(math.Exp(sigma*z) * fixedOne))
	}
	return table
}

// Campaign returns the name of a campaign by its rank in traffic, from 0. It is of the account with
// the number rank modulo Config.Accounts.
func Campaign(rank int) string { return fmt.Sprintf("camp-%07d", rank) }

// BusiestCampaign returns the name of the campaign with the most traffic.
func BusiestCampaign() string { return Campaign(0) }
