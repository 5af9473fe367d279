//go:build synctests

package spendcache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter/spendlog"
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
			if _, err := x.cache.Account(x.Context(), q, func(r Row) error {
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
		if _, err := x.cache.Account(x.Context(), AccountQuery{Account: "a"}, func(Row) error { return stop }); !errors.Is(err, stop) {
			x.Errorf("an error of the function: %v", err)
		}
	})
}

// TestLimit: an account with more rows than the limit is an error, with a healthy dataset and
// without.
func TestLimit(t *testing.T) {
	inCluster(t, func(x *fixture) {
		eu := x.counters["eu"]
		for _, campaign := range []string{"a", "b", "c", "d"} {
			eu.commit(0, eu.message(&eventspb.Spend{Account: accountOf(0), Campaign: campaign, BudgetDay: today, Currency: "USD", Incarnation: 1}))
		}
		x.ready()
		read := func(limit int) error {
			_, err := x.cache.Account(x.Context(), AccountQuery{Account: accountOf(0), Limit: limit}, func(Row) error { return nil })
			return err
		}
		if err3, err4 := read(3), read(4); !errors.Is(err3, ErrLimit) || err4 != nil {
			x.Errorf("without a healthy dataset: %v, %v", err3, err4)
		}
		x.pass(3, "eu") // a fifth row
		if err4, err5 := read(4), read(5); !errors.Is(err4, ErrLimit) || err5 != nil {
			x.Errorf("with a healthy dataset: %v, %v", err4, err5)
		}
		ctx, cancel := context.WithCancel(x.Context())
		cancel()
		if _, err := x.cache.Campaign(ctx, "a", "", func(*Choice, Row) error { return nil }); err != nil && !errors.Is(err, context.Canceled) {
			x.Errorf("a caller that has left: %v", err)
		}
	})
}

// TestNewerDataset: without a healthy dataset, one with rows of a newer version is left out.
func TestNewerDataset(t *testing.T) {
	inCluster(t, func(x *fixture) {
		row := func(dc string, schema uint32) {
			c := x.counters[dc]
			c.commit(0, c.message(&eventspb.Spend{
				Account: accountOf(0), Campaign: dc, BudgetDay: today, Currency: "USD", Incarnation: 1, Schema: schema,
			}))
		}
		row("eu", 0)
		row("us", 99)
		x.ready()
		var campaigns []string
		_, err := x.cache.Account(x.Context(), AccountQuery{Account: accountOf(0)}, func(r Row) error {
			campaigns = append(campaigns, r.Spend.GetCampaign())
			return nil
		})
		if err != nil || !slices.Equal(campaigns, []string{"eu"}) {
			x.Errorf("%q, %v", campaigns, err)
		}
		if _, err := x.cache.Account(x.Context(), AccountQuery{Account: accountOf(1)}, func(Row) error { return nil }); err != nil {
			x.Errorf("an account without rows: %v", err)
		}
	})
}

// TestCampaign: the rows of a campaign are of the dataset that each shard uses, with the lifetime
// row.
func TestCampaign(t *testing.T) {
	inCluster(t, func(x *fixture) {
		for _, dc := range ring() {
			c := x.counters[dc]
			for shard := range int32(shards) {
				for _, campaign := range []string{"spring", "summer"} {
					c.commit(shard, c.message(&eventspb.Spend{Account: accountOf(shard), Campaign: campaign, Currency: "USD", Incarnation: 1}))
				}
			}
		}
		x.pass(3, all()...)
		x.ready()
		rows := func(account string) (list []string) {
			choices, err := x.cache.Campaign(x.Context(), "spring", account, func(c *Choice, r Row) error {
				cents := int64(0)
				for _, by := range r.Spend.GetByDc() {
					cents += by.GetChargedMicros() / 10_000
				}
				list = append(list, fmt.Sprintf("%d %s %s %d %d", c.Shard, c.DC, r.Spend.GetCampaign(), r.Spend.GetBudgetDay(), cents))
				return nil
			})
			if want := map[bool]int{true: shards, false: 1}[account == ""]; err != nil || len(choices) != want {
				x.Fatalf("%d choices, %v", len(choices), err)
			}
			return list
		}
		if x.cache.Away("") || x.cache.Away(accountOf(1)) {
			x.Error("another dataset is used")
		}
		if got, want := rows(""), []string{"0 eu spring 0 0", "0 eu spring 20000101 3", "1 eu spring 0 0", "1 eu spring 20000101 3"}; !slices.Equal(got, want) {
			x.Errorf("%q, want %q", got, want)
		}
		x.pass(9, "us", "ap")
		if !x.cache.Away("") || !x.cache.Away(accountOf(1)) {
			x.Error("no other dataset is used")
		}
		if got, want := rows(accountOf(1)), []string{"1 us spring 0 0", "1 us spring 20000101 12"}; !slices.Equal(got, want) {
			x.Errorf("%q, want %q", got, want)
		}
	})
}

// TestDatasetRows: each dataset has rows of its own, whichever is chosen, and without a chosen one.
// Rows of a state that was deleted are left out.
func TestDatasetRows(t *testing.T) {
	inCluster(t, func(x *fixture) {
		for n, dc := range ring() {
			c := x.counters[dc]
			for _, day := range []int32{today, 19991231}[:n] {
				c.commit(0, c.message(&eventspb.Spend{Account: accountOf(0), Campaign: "spring", BudgetDay: day, Currency: "EUR", Incarnation: 1}))
			}
		}
		us := x.counters["us"]
		us.commit(0, us.message(&eventspb.Spend{Account: accountOf(0), Campaign: "spring", BudgetDay: today, Currency: "GBP"}))
		x.pass(3, all()...)
		x.ready()
		rows := func(mode selection.Mode) (text string) {
			s, list, err := x.cache.Rows(x.Context(), AccountQuery{Account: accountOf(0), Campaigns: []string{"spring"}})
			if err != nil || s.Choice.Mode != mode || len(list) != len(s.Datasets) {
				x.Fatalf("%+v, %d lists, %v", s, len(list), err)
			}
			for i, d := range s.Datasets {
				text += fmt.Sprintf("%s %t:", d.DC, d.Chosen)
				for _, r := range list[i].Rows {
					text += fmt.Sprintf(" %d%s", r.Spend.GetBudgetDay(), r.Spend.GetCurrency())
				}
				if list[i].Err != nil {
					text += " " + list[i].Err.Error()
				}
				text += "; "
			}
			return text
		}
		const want = "eu %t: 20000101USD; us false: 20000101EUR 20000101USD; ap false: 19991231EUR 20000101EUR 20000101USD; "
		if got := rows(selection.Normal); got != fmt.Sprintf(want, true) {
			x.Errorf("%s", got)
		}
		time.Sleep(time.Minute)
		if got := rows(selection.Degraded); got != fmt.Sprintf(want, false) {
			x.Errorf("%s", got)
		}
		if _, _, err := x.cache.Rows(x.Context(), AccountQuery{Account: accountOf(0), Limit: 2}); !errors.Is(err, ErrLimit) {
			x.Errorf("%v", err)
		}
		ctx, cancel := context.WithCancel(x.Context())
		cancel()
		if _, _, err := x.cache.Rows(ctx, AccountQuery{Account: accountOf(0)}); !errors.Is(err, context.Canceled) {
			x.Errorf("a caller that has left: %v", err)
		}
	})
}

// TestDatasetRowsOfReset: rows of a state that was reset since the choice are left out.
func TestDatasetRowsOfReset(t *testing.T) {
	inCluster(t, func(x *fixture) {
		x.pass(3, all()...)
		x.ready()
		eu := x.counters["eu"]
		eu.begun = 2
		eu.commit(0, eu.health(0))
		x.await("the new state is known", func() bool { _, cents := x.account(0); return cents == 0 })
		_, list, err := x.cache.Rows(x.Context(), AccountQuery{Account: accountOf(0)})
		if err != nil || len(list[0].Rows) > 0 || len(list[1].Rows) == 0 {
			x.Errorf("%+v, %v", list, err)
		}
	})
}

// TestNoDatasetRows: if no dataset can be read, there is an error, as of Account.
func TestNoDatasetRows(t *testing.T) {
	inCluster(t, func(x *fixture) {
		for n, dc := range ring() {
			c := x.counters[dc]
			c.commit(0, c.message(&eventspb.Spend{
				Account: accountOf(0), Campaign: "spring", BudgetDay: today, Currency: "USD", Incarnation: 1, Schema: 99,
			}))
			if n == 0 {
				continue
			}
			c.commit(1, c.message(&eventspb.Spend{
				Account: accountOf(1), Campaign: "spring", BudgetDay: today, Currency: "USD", Incarnation: 1, Schema: 99,
			}))
		}
		x.ready()
		rows := func(shard int32) error {
			_, _, err := x.cache.Rows(x.Context(), AccountQuery{Account: accountOf(shard)})
			return err
		}
		if all, some := rows(0), rows(1); !errors.Is(all, spendlog.ErrNewer) || some != nil {
			x.Errorf("%v, %v", all, some)
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
		if _, err := cache.Account(x.Context(), AccountQuery{Account: "a"}, nil); !errors.Is(err, ErrNoRows) {
			x.Errorf("before Run: %v", err)
		}
		x.pass(2, all()...)
		x.ready()
		x.halt()
		if _, err := x.cache.Account(x.Context(), AccountQuery{Account: "a"}, nil); !errors.Is(err, ErrNoRows) {
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
