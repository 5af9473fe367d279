//go:build synctests

package spendcache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// TestRows compares the rows of random queries with all rows, filtered: few and many days, accounts
// whose names begin alike, and several currencies.
func TestRows(t *testing.T) {
	inCluster(t, func(x *fixture) {
		rng := rand.New(rand.NewPCG(1, 2))
		eu := x.counters["eu"]
		type row struct {
			account, campaign, currency string
			day                         int32
		}
		var rows []row
		for _, account := range []string{"a", "ab", "b"} {
			for n := range 12 {
				for range rng.IntN(30) {
					day := int32(events.UTCDay(946_684_800_000 + int64(rng.IntN(40))*86_400_000))
					if rng.IntN(8) == 0 {
						day = 0 // a lifetime row
					}
					rows = append(rows, row{account, fmt.Sprintf("c%d", n), []string{"USD", "EUR"}[rng.IntN(2)], day})
				}
			}
		}
		for shard := range int32(shards) {
			var list []stream.Message
			for _, r := range rows {
				if events.Shard(r.account, shards) == shard {
					list = append(list, eu.message(&eventspb.Spend{
						Account: r.account, Campaign: r.campaign, BudgetDay: r.day, Currency: r.currency, Incarnation: 1,
					}))
				}
			}
			eu.commit(shard, append(list, eu.health(shard))...)
		}
		text := func(r row) string { return fmt.Sprintf("%s %s %08d %s", r.account, r.campaign, r.day, r.currency) }
		x.ready()
		for range 300 {
			q := AccountQuery{Account: []string{"a", "ab", "b", "c"}[rng.IntN(4)]}
			if rng.IntN(4) > 0 {
				q.From = events.UTCDay(946_684_800_000 + int64(rng.IntN(45))*86_400_000)
			}
			for range rng.IntN(3) {
				q.Campaigns = append(q.Campaigns, fmt.Sprintf("c%d", rng.IntN(14)))
			}
			var want, got []string
			for _, r := range rows {
				if r.account == q.Account && r.day > 0 && events.Day(r.day) >= q.From &&
					(len(q.Campaigns) == 0 || slices.Contains(q.Campaigns, r.campaign)) {
					want = append(want, text(r))
				}
			}
			slices.Sort(want)
			want = slices.Compact(want)
			if _, err := x.cache.Account(q, func(r Row) error {
				s := r.Spend
				got = append(got, text(row{s.GetAccount(), s.GetCampaign(), s.GetCurrency(), s.GetBudgetDay()}))
				return nil
			}); err != nil {
				x.Fatal(err)
			}
			if !slices.IsSorted(got) || !slices.Equal(got, want) {
				x.Fatalf("%+v: %q, want %q", q, got, want)
			}
		}
		stop := errors.New("stop")
		if _, err := x.cache.Account(AccountQuery{Account: "a"}, func(Row) error { return stop }); !errors.Is(err, stop) {
			x.Errorf("an error of the function: %v", err)
		}
	})
}

// TestNotRunning: a cache that has not started, or has stopped, has no rows.
func TestNotRunning(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.link = x.kafka.Link()
		cache, err := New(x.config())
		if err != nil {
			x.Fatal(err)
		}
		if _, err := cache.Account(AccountQuery{Account: "a"}, nil); !errors.Is(err, ErrNoRows) {
			x.Errorf("before Run: %v", err)
		}
		x.pass(2, all()...)
		x.ready()
		x.halt()
		if _, err := x.cache.Account(AccountQuery{Account: "a"}, nil); !errors.Is(err, ErrNoRows) {
			x.Errorf("after Run: %v", err)
		}
	})
}

// TestConfig: each wrong field is named.
func TestConfig(t *testing.T) {
	valid := func() Config {
		c := Config{Dir: "/state", DC: "eu", Ring: ring(), Writers: []string{"us"}}
		c.Kafka.Brokers = []string{"localhost:9092"}
		return c
	}
	if _, err := New(valid()); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"DC":            func(c *Config) { c.DC = "Eu" },
		"own":           func(c *Config) { c.Writers = []string{"eu"} },
		"not in Ring":   func(c *Config) { c.Writers = []string{"sa"} },
		"twice":         func(c *Config) { c.Writers = []string{"us", "us"} },
		"Selection":     func(c *Config) { c.Selection.Deficit = 2 },
		"Dir is empty":  func(c *Config) { c.Dir = "" },
		"Kafka.Brokers": func(c *Config) { c.Kafka.Brokers = nil },
		"ring":          func(c *Config) { c.Ring, c.Writers = []string{"us"}, nil },
	} {
		c := valid()
		change(&c)
		if _, err := New(c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
