package loadgen

import (
	"fmt"
	"math"
	"slices"

	"github.com/weirhq/weir/events"
)

// Config describes the traffic. Its zero value works.
type Config struct {
	// Seed determines all random choices. Every value is valid.
	Seed uint64
	// StartMs is a time >= 0 in Unix milliseconds that is part of every event id. Set it to the
	// start of the process, so that a restart with the same seed does not repeat ids.
	StartMs int64
	// Shards is the number of partitions of the topic. Defaults to events.DefaultShards.
	Shards int32
	// Accounts is the number of accounts that are charged. Defaults to 200.
	Accounts int
	// CampaignsPerAccount is the number of campaigns of each account. Defaults to 5.
	CampaignsPerAccount int
	// Zipf is the exponent of the distribution of traffic over campaigns. With Even all campaigns
	// get the same traffic. Defaults to 1.1.
	Zipf float64
	// ClickRate is the share of impressions that are clicked; negative for none. Defaults to 0.01.
	ClickRate float64
	// DuplicateRate is the share of events that repeat a recent event; negative for none. Defaults
	// to 0.001.
	DuplicateRate float64
	// Currencies are ISO 4217 codes, assigned to the accounts in turn. Defaults to USD, EUR, JPY.
	Currencies []string
	// DC is the serving datacentre in the events. Defaults to the datacentre that counts the
	// events.
	DC string
	// MedianMicros is the median price of an impression. Defaults to 1,200, a CPM of 1.20.
	MedianMicros int64
	// Flat omits the daily cycle. Defaults to false.
	Flat bool
	// NoInsertions omits the insertion ids, for small records. Defaults to false.
	NoInsertions bool

	// TakesPart returns whether a campaign takes part in the auction of an ad request. If it does
	// not, the request goes to another campaign, and after 100 of them to none. Defaults to all.
	TakesPart func(account, campaign, request string) bool
	// Shown is called with each impression, and with what it is expected to cost: its price, or
	// that of a click on it times the ClickRate. Defaults to nothing.
	Shown func(account, campaign string, expectedMicros int64)

	campaigns int // total; 0 for Accounts x CampaignsPerAccount
}

// Even is the Zipf exponent with which all campaigns get the same traffic. It is not 0, because 0
// stands for the default.
const Even = -1

const (
	maxCampaigns = 20_000_000
	maxStartMs   = 1 << 45       // 9 base-32 digits
	maxMedian    = 1_000_000_000 // keeps median x click factor x quantile within int64
)

// setDefaults sets defaults and returns an error for an invalid field.
func (c *Config) setDefaults() error {
	if c.Shards == 0 {
		c.Shards = events.DefaultShards
	}
	if c.Accounts == 0 {
		c.Accounts = 200
	}
	if c.CampaignsPerAccount == 0 {
		c.CampaignsPerAccount = 5
	}
	if c.Zipf == 0 {
		c.Zipf = 1.1
	}
	if c.ClickRate == 0 {
		c.ClickRate = 0.01
	}
	if c.DuplicateRate == 0 {
		c.DuplicateRate = 0.001
	}
	if len(c.Currencies) == 0 {
		c.Currencies = []string{"USD", "EUR", "JPY"}
	}
	if c.MedianMicros == 0 {
		c.MedianMicros = 1200
	}
	if c.campaigns == 0 {
		c.campaigns = c.Accounts * c.CampaignsPerAccount
	}
	c.Currencies = slices.Clone(c.Currencies)
	return c.check()
}

func (c *Config) check() error {
	switch {
	case c.Shards < 1 || c.Shards > events.MaxShards:
		return fmt.Errorf("loadgen: %d shards: use 1 to %d", c.Shards, events.MaxShards)
	case c.Accounts < 0 || c.CampaignsPerAccount < 0 || c.campaigns < 1:
		return fmt.Errorf("loadgen: %d accounts with %d campaigns each: both numbers must be positive", c.Accounts, c.CampaignsPerAccount)
	case c.Accounts > maxCampaigns/c.CampaignsPerAccount || c.campaigns > maxCampaigns:
		return fmt.Errorf("loadgen: %d accounts with %d campaigns each: use at most %d campaigns in total", c.Accounts,
			c.CampaignsPerAccount, maxCampaigns)
	case math.IsNaN(c.Zipf) || c.Zipf > 10 || c.Zipf < 0 && c.Zipf != Even:
		return fmt.Errorf("loadgen: Zipf exponent %v: use one above 0 up to 10, or %d for even traffic", c.Zipf, Even)
	case !(c.ClickRate <= 1) || !(c.DuplicateRate <= 0.5):
		return fmt.Errorf("loadgen: click rate %v and duplicate rate %v: use at most 1 and 0.5", c.ClickRate, c.DuplicateRate)
	case c.MedianMicros < 1 || c.MedianMicros > maxMedian:
		return fmt.Errorf("loadgen: median price %d micros: use 1 to %d", c.MedianMicros, int64(maxMedian))
	case c.StartMs < 0 || c.StartMs >= maxStartMs:
		return fmt.Errorf("loadgen: start %d: use a time in Unix milliseconds", c.StartMs)
	case len(c.Currencies) > math.MaxUint8:
		return fmt.Errorf("loadgen: %d currencies: use at most %d", len(c.Currencies), math.MaxUint8)
	case len(c.DC) > 100:
		return fmt.Errorf("loadgen: datacentre name of %d bytes: use at most 100", len(c.DC))
	}
	for _, code := range c.Currencies {
		if _, err := events.ParseCurrency(code); err != nil {
			return fmt.Errorf("loadgen: %w", err)
		}
	}
	return nil
}
