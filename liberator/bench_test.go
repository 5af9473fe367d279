package liberator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/stream/streamtest"
)

// benchRunner returns a runner with n leases in 100 pools. The first ending of them end between 10
// s and 11 s.
func benchRunner(b *testing.B, n, ending int) *streamtest.Runner {
	r := newRunner(b, testConfig())
	const pools = 100
	for i := range pools {
		c := settings(1, 60_000, 10)
		c.Pool = fmt.Sprint("pool-", i)
		r.Append(marshal(b, c))
	}
	for i := range n {
		end := int64(1_000_000_000)
		if i < ending {
			end = 10_000 + int64(i)*1000/int64(ending)
		}
		c := leased(fmt.Sprintf("https://resource.example/%09d", i), 1, end)
		c.Pool = fmt.Sprint("pool-", i%pools)
		r.Append(marshal(b, c))
	}
	return r
}

// BenchmarkFold applies changes of resources, each of another one, and commits every 20,000.
func BenchmarkFold(b *testing.B) {
	r := benchRunner(b, b.N, 0)
	b.ReportAllocs()
	b.ResetTimer()
	for r.Remaining() > 0 {
		r.Fold(20_000)
		r.Commit(1000)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}

// BenchmarkBurst ends 100,000 of a million leases within one second, within the budgets, with a
// commit every 100 ms. It reports the time of a command, handler and runner together, and the delay
// from the end of a lease to its command, by the clock of the timers.
func BenchmarkBurst(b *testing.B) {
	n, ending := 1_000_000, 100_000
	if testing.Short() {
		n, ending = 50_000, 10_000
	}
	for b.Loop() {
		r := benchRunner(b, n, ending)
		for now := int64(0); r.Remaining() > 0; now += 100 {
			r.Fold(20_000)
			r.Commit(now)
		}
		var delays []int64
		var took time.Duration
		for now := int64(10_050); len(delays) < ending; now += 100 {
			began := time.Now()
			r.Commit(now)
			took += time.Since(began)
			for _, c := range commands(b, r) {
				delays = append(delays, now-c.GetLiberate().ExpiresMs)
			}
		}
		slices.Sort(delays)
		b.ReportMetric(float64(delays[len(delays)/2]), "delay-p50-ms")
		b.ReportMetric(float64(delays[len(delays)*99/100]), "delay-p99-ms")
		b.ReportMetric(float64(took.Nanoseconds())/float64(ending), "ns/command")
	}
}
