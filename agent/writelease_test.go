package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// Agents of a region whose write lease is not renewed write nothing after its end, by every clock,
// not even a renewal.
func TestWriteLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu", "us")
		w.register("eu", 4)
		region := func(r table.Region) {
			item := r.Item()
			for name, v := range table.PrimaryKey(lease.RegionRow(r.Name)) {
				item[name] = v
			}
			item[table.Version] = table.N(2)
			w.put("us", item)
			w.cloud.Settle()
		}
		renew := func(until time.Time) {
			item := table.PrimaryKey(lease.WriteLeaseRow("eu", "us"))
			item[table.WriteLeaseUntilMs] = table.N(until.UnixMilli())
			w.put("us", item)
			w.cloud.Settle()
		}
		const skew, timeout, ttl = time.Second, 2 * time.Second, 10 * time.Second
		a := w.agent("eu", func(c *Config) { c.Skew, c.Timeout, c.SettingsTTL, c.CacheTTL = skew, timeout, ttl, time.Nanosecond })
		defer a.Close()
		get := func(key string) (Lease, error) {
			return a.GetLease(t.Context(), "c", "p", key, time.Now().Add(10*time.Minute))
		}
		region(table.Region{Name: "eu", State: "active", WriteLease: time.Minute})
		if _, err := get("k"); !errors.Is(err, ErrNoWriteLease) || !strings.Contains(err.Error(), "no other region has renewed it yet") {
			t.Errorf("before the first renewal: %v, want %v", err, ErrNoWriteLease)
		}
		begun := time.Now()
		renew(begun.Add(time.Minute))
		pass(t.Context(), t, ttl+time.Second)
		_, _ = get("k") // uses the old settings, and starts a read of the new ones
		synctest.Wait()
		l, err := get("k")
		if err != nil {
			t.Fatal(err)
		}
		pass(t.Context(), t, time.Until(begun.Add(time.Minute-timeout-skew-500*time.Millisecond)))
		if l, err = a.Renew(t.Context(), l, time.Now().Add(20*time.Minute)); err != nil {
			t.Errorf("a renewal in time: %v", err)
		}
		pass(t.Context(), t, 501*time.Millisecond)
		if _, err := a.Renew(t.Context(), l, time.Now().Add(30*time.Minute)); !errors.Is(err, ErrNoWriteLease) {
			t.Errorf("a renewal too late: %v, want %v", err, ErrNoWriteLease)
		}
		if _, err := get("m"); !errors.Is(err, ErrNoWriteLease) {
			t.Errorf("a lease too late: %v, want %v", err, ErrNoWriteLease)
		}
		if _, err := get("k"); err != nil {
			t.Errorf("an existing lease: %v", err)
		}
		region(table.Region{Name: "eu", State: "adopted", AdoptedBy: "us"})
		pass(t.Context(), t, ttl+time.Second)
		_, _ = get("m")
		synctest.Wait()
		if _, err := get("m"); !errors.Is(err, ErrNoWriteLease) || !errors.Is(err, ErrAdopted) {
			t.Errorf("in an adopted region: %v, want %v", err, ErrNoWriteLease)
		}
	})
}

// An idle agent's copy of its region's write lease gets old. The first call reads it again and
// waits for it; calls that are refused read it at most once a second.
func TestWriteLeaseReread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		w.register("eu", 4)
		item := (&table.Region{Name: "eu", State: "active", WriteLease: time.Minute}).Item()
		for name, v := range table.PrimaryKey(lease.RegionRow("eu")) {
			item[name] = v
		}
		item[table.Version] = table.N(2)
		w.put("eu", item)
		renew := func() {
			item := table.PrimaryKey(lease.WriteLeaseRow("eu", "us"))
			item[table.WriteLeaseUntilMs] = table.N(time.Now().Add(time.Minute).UnixMilli())
			w.put("eu", item)
		}
		a := w.agent("eu", func(c *Config) { c.CacheTTL = time.Nanosecond })
		defer a.Close()
		get := func(key string) error {
			_, err := a.GetLease(t.Context(), "c", "p", key, time.Now().Add(10*time.Minute))
			return err
		}
		renew()
		if err := get("a"); err != nil {
			t.Fatal(err)
		}
		pass(t.Context(), t, 61*time.Second)
		renew()
		if err := get("b"); err != nil {
			t.Errorf("after a minute without a call: %v", err)
		}
		pass(t.Context(), t, 61*time.Second)
		if err := get("c"); !errors.Is(err, ErrNoWriteLease) {
			t.Errorf("it was not renewed: %v, want %v", err, ErrNoWriteLease)
		}
		renew()
		if err := get("c"); !errors.Is(err, ErrNoWriteLease) {
			t.Errorf("at once: %v, want %v: not every refused call reads it", err, ErrNoWriteLease)
		}
		pass(t.Context(), t, time.Second)
		if err := get("c"); err != nil {
			t.Errorf("a second after the renewal: %v", err)
		}
	})
}

// However many pools an agent uses, it reads the write leases once: two requests, and one for each
// pool's settings.
func TestLimitsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu", "us")
		for _, region := range []string{"eu", "us"} {
			item := (&table.Region{Name: region, State: "active", WriteLease: time.Hour}).Item()
			for name, v := range table.PrimaryKey(lease.RegionRow(region)) {
				item[name] = v
			}
			item[table.Version] = table.N(2)
			w.put("eu", item)
			until := table.PrimaryKey(lease.WriteLeaseRow(region, "us"))
			until[table.WriteLeaseUntilMs] = table.N(time.Now().Add(time.Hour).UnixMilli())
			w.put("us", until)
		}
		const pools = 20
		for i := range pools {
			p := table.Pool{Client: "c", Name: fmt.Sprint("p", i), Version: 1, LongestLease: time.Hour, Quarantine: 10 * time.Second, Buckets: 4}
			w.put("eu", p.Item())
		}
		w.cloud.Settle()
		var requests atomic.Int64
		count := middleware.InitializeMiddlewareFunc("count", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error,
		) {
			requests.Add(1)
			return next.HandleInitialize(ctx, in)
		})
		a := w.agent("eu", func(c *Config) {
			c.Client = func(region string) *dynamodb.Client {
				o := w.cloud.Region(region).Client().Options()
				o.APIOptions = append(slices.Clone(o.APIOptions), func(s *middleware.Stack) error { return s.Initialize.Add(count, middleware.Before) })
				return dynamodb.New(o)
			}
		})
		defer a.Close()
		for round := range 3 {
			requests.Store(0)
			for i := range pools {
				if _, err := a.poolOf(t.Context(), "c", fmt.Sprint("p", i), &Call{}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			if n := requests.Load(); n != pools+2 {
				t.Errorf("round %d: %d requests for %d pools, want two more than pools", round, n, pools)
			}
			pass(t.Context(), t, a.cfg.SettingsTTL+time.Second)
		}
	})
}
