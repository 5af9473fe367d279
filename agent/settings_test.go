package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// While settings cannot be read again, the old ones are used, and no call waits for them.
func TestSettingsThrottled(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	w.register("eu", 3)
	var last Call
	a := w.agent("eu", func(c *Config) {
		c.SettingsTTL, c.CacheTTL, c.Attempts = time.Nanosecond, time.Nanosecond, 1
		c.Observe = func(call Call) { last = call }
	})
	l := get(t.Context(), t, a, "k", time.Minute)
	w.cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Throttle, Rate: 1, Operation: "GetItem"})
	again := get(t.Context(), t, a, "k", time.Minute)
	if again.Resource != l.Resource {
		t.Errorf("%+v, was %+v", again, l)
	}
	if _, err := a.GetLease(t.Context(), "c", "other", "k", time.Now().Add(time.Minute)); !errors.Is(err, ErrThrottled) {
		t.Errorf("settings that were never read: %v, want %v", err, ErrThrottled)
	}
	w.cloud.SetFaults()
	get(t.Context(), t, a, "k", time.Minute)
	if last.RoundTrips > 3 {
		t.Errorf("%d round trips", last.RoundTrips)
	}
}

// Settings that get old are read again without a call that waits for it.
func TestSettingsReread(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	w.register("eu", 3)
	var last Call
	a := w.agent("eu", func(c *Config) {
		c.CacheTTL = time.Nanosecond
		c.Observe = func(call Call) { last = call }
	})
	get(t.Context(), t, a, "k", time.Minute)
	a.running.Wait()
	p := a.pools[poolName{"c", "p"}]
	old := settings{Pool: p.settings.Load().Pool, read: time.Now().Add(-2 * a.cfg.SettingsTTL)}
	old.Buckets = 1
	p.settings.Store(&old)
	get(t.Context(), t, a, "k", time.Minute)
	a.running.Wait()
	if now := p.settings.Load(); last.RoundTrips != 1 || now.Buckets != 4 || a.pools[poolName{"c", "p"}] != p {
		t.Errorf("%d round trips, %d buckets, want 1 and 4", last.RoundTrips, now.Buckets)
	}
}

// A deleted pool is noticed.
func TestSettingsGone(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	w.register("eu", 3)
	a := w.agent("eu", func(c *Config) { c.SettingsTTL, c.CacheTTL = time.Nanosecond, time.Nanosecond })
	get(t.Context(), t, a, "k", time.Minute)
	if _, err := w.cloud.Region("eu").Client().DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: aws.String(testTable), Key: table.PrimaryKey(lease.PoolRow("c", "p")),
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.GetLease(t.Context(), "c", "p", "k", time.Now().Add(time.Minute)); !errors.Is(err, ErrUnknown) {
		t.Errorf("the pool was deleted: %v, want %v", err, ErrUnknown)
	}
}

func TestSettingsRefused(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu", "us")
	short := table.Pool{Client: "c", Name: "short", Version: 1, LongestLease: time.Hour, Quarantine: time.Second / 10, Buckets: 4}
	w.put("eu", short.Item())
	broken := short.Item()
	broken[table.SK], broken[table.Buckets] = table.S("pool#broken"), table.S("many")
	w.put("eu", broken)
	w.cloud.Settle()
	for _, c := range []struct {
		name, region, pool string
		want               error
		text               string
	}{
		{"quarantine below the skew", "eu", "short", ErrTable, "quarantine of 100ms"},
		{"edited by hand", "eu", "broken", ErrTable, table.Buckets},
		{"no such pool", "eu", "none", ErrUnknown, `client "c" has no pool "none"`},
	} {
		if _, err := w.agent(c.region).GetLease(t.Context(), "c", c.pool, "k", time.Now().Add(time.Minute)); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	a := w.agent("eu", func(c *Config) {
		c.Region = "ap"
		c.Client = func(string) *dynamodb.Client { return w.cloud.Region("eu").Client() }
	})
	if _, err := a.GetLease(t.Context(), "c", "p", "k", time.Now().Add(time.Minute)); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), `no region "ap"`) {
		t.Errorf("a region that is not declared: %v", err)
	}
	if _, err := w.agent("eu").GetLease(t.Context(), "c", "p", strings.Repeat("#", 1000), time.Now().Add(time.Minute)); !errors.Is(err, ErrInvalid) {
		t.Errorf("a key too long once escaped: %v, want %v", err, ErrInvalid)
	}
	// A pool name that contains the separator does not lead to another client's pool.
	if _, err := w.agent("eu").GetLease(t.Context(), "c#p", "", "k", time.Now().Add(time.Minute)); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v, want %v", err, ErrInvalid)
	}
}
