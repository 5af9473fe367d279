package lease

import (
	"testing"

	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/config"
)

// A plan has the limits of the settings. The defaults of the settings are those of the balancer.
func TestPlansHaveTheLimitsOfSettings(t *testing.T) {
	region := func(name, state string, free, need int64) *eventspb.LeaseHeadroom {
		return &eventspb.LeaseHeadroom{Client: "c", Pool: "p", Region: name, State: state, Free: free, Need: need}
	}
	short := []*eventspb.LeaseHeadroom{region("eu", "", 5000, 10), region("us", "", 0, 3000)}
	leaving := []*eventspb.LeaseHeadroom{region("eu", "", 5000, 10), region("us", plan.StateEvacuating, 4000, 0)}
	moved := func(all []*eventspb.LeaseHeadroom, l plan.Limits) (n int64) {
		for _, r := range plans(all, l) {
			n += r.Count
		}
		return n
	}
	def := node.BalancerConfig(config.Default())
	if def.Limits != (plan.Limits{MaxMoved: 100, MaxMovedShare: 0.25, MaxEvacuated: 1000}) {
		t.Errorf("the defaults are %+v", def.Limits)
	}
	for name, all := range map[string][]*eventspb.LeaseHeadroom{"short": short, "leaving": leaving} {
		if a, b := moved(all, def.Limits), moved(all, plan.Limits{}); a != b || a == 0 {
			t.Errorf("%s: the default settings move %d, the balancer's defaults %d", name, a, b)
		}
	}
	c := config.Default()
	c.Leases.Balancer.Cap, c.Leases.Balancer.CapPercent, c.Leases.Balancer.Evacuate = 7, 1, 33
	if n := moved(short, node.BalancerConfig(c).Limits); n != 50 {
		t.Errorf("at most 7 or one percent of 5000 may move, and %d do", n)
	}
	if n := moved(leaving, node.BalancerConfig(c).Limits); n != 33 {
		t.Errorf("33 may leave in a plan, and %d do", n)
	}
	c.Leases.Balancer.Cap = 70
	if n := moved(short, node.BalancerConfig(c).Limits); n != 70 {
		t.Errorf("at most 70 may move, and %d do", n)
	}
}
