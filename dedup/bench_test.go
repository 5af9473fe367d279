package dedup

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/lease"
)

// BenchmarkFold applies changes of keys, each of another one. One in a thousand is leased in a
// second region, too. It commits every 20,000.
func BenchmarkFold(b *testing.B) {
	r := newRunner(b, testConfig())
	r.Append(marshal(b, settings(1, "")))
	for i := range b.N {
		c := keyRow("us", 1, lease.Leased)
		c.GetKey().Key = fmt.Sprintf("campaign/%09d", i)
		if i%1000 == 1 {
			c.GetKey().Key, c.GetKey().Region = fmt.Sprintf("campaign/%09d", i-1), "eu"
		}
		r.Append(marshal(b, c))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for r.Remaining() > 0 {
		r.Fold(20_000)
		r.Commit(2000)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}
