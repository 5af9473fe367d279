package bridge_test

import (
	"testing"

	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/processors"
)

// TestSettings: processes with another order of regions differ. One with a new region at the end of
// the list does not, so that a region can be added process by process.
func TestSettings(t *testing.T) {
	of := func(regions ...string) map[string]string { return bridge.Config{Regions: regions}.Processor().Settings }
	for _, c := range []struct {
		regions []string
		differ  int
	}{
		{[]string{"eu", "us"}, 0},
		{[]string{"eu", "us", "ap"}, 0},
		{[]string{"eu"}, 0},
		{[]string{"us", "eu"}, 2},
		{[]string{"eu", "ap", "us"}, 1},
	} {
		members := []processors.Member{{Instance: "other", Settings: of(c.regions...)}}
		if d := processors.Differences(of("eu", "us"), members); len(d) != c.differ {
			t.Errorf("eu, us beside %v: %+v, want %d differences", c.regions, d, c.differ)
		}
	}
}
