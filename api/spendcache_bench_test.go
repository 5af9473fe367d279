package api

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// BenchmarkGetAccount measures answers of ten campaigns over HTTP. Client and server share the
// processors; the rows are in memory, so that the time is that of the API. BenchmarkCache of
// package spendcache measures the reads.
func BenchmarkGetAccount(b *testing.B) {
	f := &fakeCache{}
	for i := range 10 {
		f.records = append(f.records, with(record(20131019, "eu", 30, 2), func(r *eventspb.Spend) { r.Campaign = fmt.Sprint("campaign-", i) }))
	}
	c := cacheClient(b, f)
	for _, callers := range []int{1, 2, 16} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			took := make([]time.Duration, b.N)
			var next atomic.Int64
			var calls sync.WaitGroup
			for range callers {
				calls.Go(func() {
					for n := next.Add(1) - 1; n < int64(b.N); n = next.Add(1) - 1 {
						began := time.Now()
						res, err := c.GetAccount(b.Context(), &weirpb.GetAccountRequest{Account: "a1"})
						if err != nil || len(res.GetRows()) != 10 {
							b.Errorf("%d rows, %v", len(res.GetRows()), err)
							return
						}
						took[n] = time.Since(began)
					}
				})
			}
			calls.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
			b.ReportMetric(float64(took[b.N/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[b.N*99/100].Microseconds()), "p99-us")
		})
	}
}
