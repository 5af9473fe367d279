package node

import (
	"testing"

	"github.com/weirhq/weir/spendcache"
)

// TestCompleteMs: a dataset is complete up to the least ingest time of all datacentres. One of
// which it has nothing, or that it does not have, makes it incomplete; one that is not asked for
// does not count.
func TestCompleteMs(t *testing.T) {
	origins := []spendcache.Origin{{DC: "ap", WatermarkMs: 3}, {DC: "eu", WatermarkMs: 9}, {DC: "sa"}, {DC: "us", WatermarkMs: 7}}
	for _, c := range []struct {
		dcs  []string
		want int64
	}{
		{[]string{"eu"}, 9}, {[]string{"us", "eu"}, 7}, {[]string{"eu", "ap", "us"}, 3}, {[]string{"eu", "sa"}, 0}, {[]string{"eu", "af"}, 0},
	} {
		if got := completeMs(origins, c.dcs); got != c.want {
			t.Errorf("%v: %d, want %d", c.dcs, got, c.want)
		}
	}
}
