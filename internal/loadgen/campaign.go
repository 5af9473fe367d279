package loadgen

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/weirhq/weir/events"
)

// campaign is what its events have in common. It fills one cache line: with many campaigns, fetching it is most of
// what an event costs.
type campaign struct {
	text      [44]byte // fields account and campaign, encoded
	textLen   uint8
	nameFrom  uint8 // where in text the campaign's name begins
	profile   uint8 // of its day
	currency  uint8 // index into Config.Currencies
	perClick  bool
	partition int16
	account   uint32
	median    int64 // micros of an impression or, if perClick, of a click
}

// names is fields account and campaign, encoded.
func (c *campaign) names() []byte { return c.text[:c.textLen] }

func (c *campaign) name() string { return string(c.text[c.nameFrom:c.textLen]) }

// perClickShare of the campaigns pay for clicks, and a click costs clickFactor impressions.
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

// newCampaigns makes the campaigns by rank of traffic. The account of rank r is r modulo the number of accounts: each
// account gets some of the big ones.
func newCampaigns(cfg Config, accounts [][]byte, rng *rand.Rand) []campaign {
	list := make([]campaign, cfg.campaigns)
	for r := range list {
		c, i := &list[r], r%len(accounts)
		name := fmt.Sprintf("camp-%07d", r)
		text := appendText(c.text[:0], numAccount, accounts[i])
		text = appendText(text, numCampaign, []byte(name))
		c.textLen, c.nameFrom = uint8(len(text)), uint8(len(text)-len(name))
		c.account, c.partition = uint32(i), int16(events.ShardBytes(accounts[i], cfg.Shards))
		c.currency = uint8(i % len(cfg.Currencies))
		const spread = 0.5 // sigma of the medians of campaigns
		c.median = max(1, int64(math.Round(float64(cfg.MedianMicros)*math.Exp(spread*rng.NormFloat64()))))
		c.profile = uint8(rng.IntN(profiles))
		if c.perClick = cfg.ClickRate > 0 && rng.Float64() < perClickShare; c.perClick {
			c.median *= clickFactor
		}
	}
	return list
}

const (
	profiles  = 8
	daySlots  = 96 // quarters of an hour
	dayMs     = 86_400_000
	dayLow    = 0.15 // traffic at the quietest time, as a share of the busiest
	shapeOne  = 1 << 16
	quarterMs = dayMs / daySlots
)

// newShapes makes the daily cycles: profile p peaks 24/profiles hours after the one before. Values are the chance, of
// shapeOne, that an event drawn for such a campaign happens now.
func newShapes() (shapes [profiles][daySlots]uint32) {
	for p := range shapes {
		for q := range shapes[p] {
			phase := 2 * math.Pi * (float64(q)/daySlots - float64(p)/profiles)
			level := (1 + math.Cos(phase)) / 2
			shapes[p][q] = uint32(math.Round((dayLow + (1-dayLow)*level*level) * shapeOne))
		}
	}
	return shapes
}

const priceSteps = 1 << 12

// newPrices is the log-normal distribution around 1 as a table of quantiles in 16-bit fixed point.
func newPrices() []int64 {
	const sigma = 0.6
	table := make([]int64, priceSteps)
	for i := range table {
		z := math.Sqrt2 * math.Erfinv(2*(float64(i)+0.5)/priceSteps-1)
		table[i] = int64(math.Round(math.Exp(sigma*z) * shapeOne))
	}
	return table
}

// Example is the campaign with the most traffic, for texts that say what to try.
func Example() string { return fmt.Sprintf("camp-%07d", 0) }
