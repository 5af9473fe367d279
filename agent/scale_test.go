package agent

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// stock adds n available resources in a number of buckets, and replaces the settings of the
// fixture's pool.
func (w *fixture) stock(region string, n, buckets int) {
	w.t.Helper()
	pool := table.Pool{Client: "c", Name: "p", Version: 2, LongestLease: time.Hour, Quarantine: 2 * time.Second, Buckets: buckets}
	w.put(region, pool.Item())
	var batch []types.WriteRequest
	for i := range n {
		item := table.PrimaryKey(lease.ResourceRow("c", fmt.Sprintf("resource-%06d", i)))
		item[table.Version], item[table.Owner], item[table.PoolID] = table.N(1), table.S(region), table.S("p")
		item[table.AvailableMs], item[table.Bucket] = table.N(int64(1+i)), table.S(lease.Bucket("c", "p", region, i%buckets))
		if batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}}); len(batch) < 25 && i < n-1 {
			continue
		}
		out, err := w.cloud.Region(region).Client().BatchWriteItem(w.t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{testTable: batch}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			w.t.Fatal(err, out)
		}
		batch = nil
	}
	w.cloud.Settle()
}

// Fifty agents that lease from one pool concurrently seldom conflict: most candidates that one has
// read are still available. The index lags by some milliseconds, and a request takes some.
func TestTriesOfNewLeases(t *testing.T) {
	const agents, resources, buckets = 50, 10_000, 10
	each := 40
	if testing.Short() {
		each = 10
	}
	synctest.Test(t, func(t *testing.T) {
		profile := dynamotest.Friendly()
		profile.Faults = []dynamotest.Fault{{Kind: dynamotest.Slow, Rate: 1, Delay: dynamotest.Span{Min: 2 * time.Millisecond, Max: 12 * time.Millisecond}}}
		w := newFixture(t, profile, linearRegion)
		if err := w.cloud.SetFaults(); err != nil {
			t.Fatal(err)
		}
		w.stock(linearRegion, resources, buckets)
		if err := w.cloud.SetFaults(profile.Faults...); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var tries, trips []int
		holder := map[string]string{}
		var all sync.WaitGroup
		begun := time.Now()
		for i := range agents {
			a := w.agent(linearRegion, func(c *Config) {
				c.Observe = func(call Call) {
					mu.Lock()
					defer mu.Unlock()
					tries, trips = append(tries, call.Tries), append(trips, call.RoundTrips)
				}
			})
			all.Go(func() {
				for k := range each {
					key := fmt.Sprint(i, "-", k)
					l, err := a.GetLease(t.Context(), "c", "p", key, time.Now().Add(time.Minute))
					mu.Lock()
					if had, ok := holder[l.Resource]; ok || err != nil {
						t.Errorf("%s: %s, of %q already, %v", key, l.Resource, had, err)
					}
					holder[l.Resource] = key
					mu.Unlock()
				}
			})
		}
		all.Wait()
		took := time.Since(begun)
		slices.Sort(tries)
		slices.Sort(trips)
		at := func(list []int, q float64) int { return list[int(q*float64(len(list)-1))] }
		t.Logf("%d leases in %v of virtual time: tries p50 %d, p99 %d, max %d; round trips p50 %d, p99 %d, max %d", len(tries), took,
			at(tries, 0.5), at(tries, 0.99), at(tries, 1), at(trips, 0.5), at(trips, 0.99), at(trips, 1))
		if len(holder) != agents*each {
			t.Errorf("%d resources for %d keys", len(holder), agents*each)
		}
		if p99 := at(tries, 0.99); p99 > 3 && !testing.Short() { // with -short there are so few leases that one would be the p99
			t.Errorf("tries p99 is %d, want at most 3", p99)
		}
	})
}

// A hundred thousand leases in memory, with names of a realistic length, none of them shared.
func TestMemoryOfCachedLeases(t *testing.T) {
	const leases, most = 100_000, 64 << 20
	a, err := New(Config{Region: linearRegion})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	expires := time.Now().Add(time.Hour)
	for i := range 2 * leases { // the second half evicts the first
		n := leaseName{strings.Clone("advertising-emea"), strings.Clone("tracking-ids-v2"), fmt.Sprintf("visitor-%08x-7e1c-4d0f-9a55-c0ffee%06x", i, i)}
		l := a.lease(n, lease.Grant{Resource: fmt.Sprintf("GTM-container-%09d", i), Region: linearRegion, Token: int64(i), KeyVersion: 2, Expires: expires.UnixMilli()})
		a.cache.put(n, l, expires)
	}
	after := heap()
	if got := len(a.cache.leases); got != leases {
		t.Errorf("%d leases are kept, want %d", got, leases)
	}
	used := after - before
	t.Logf("%d leases take %.1f MiB, %d bytes each", leases, float64(used)/(1<<20), used/leases)
	if used > most {
		t.Errorf("%d leases take %d bytes, want at most %d", leases, used, most)
	}
	if _, ok := a.cache.get(leaseName{"none", "none", "none"}, time.Now()); ok { // and keeps the cache from being collected
		t.Error(errors.New("a lease of a key that no caller asked for"))
	}
}
