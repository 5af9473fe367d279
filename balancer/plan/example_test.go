package plan_test

import (
	"fmt"

	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events/eventspb"
)

// A dry run: the plan that the balancer would make from the records of lease.headroom of a pool.
func ExampleMoves() {
	headroom := []*eventspb.LeaseHeadroom{
		{Region: "eu-west-1", State: "active", Free: 35, Returning: 20, Need: 120, Rate: 0.1, HorizonMs: 600_000},
		{Region: "us-east-1", State: "active", Free: 900, Returning: 100, Need: 500, Rate: 0.7, HorizonMs: 600_000},
		{Region: "us-west-2", State: "active", Free: 10, Need: 300, Rate: 0.4, HorizonMs: 600_000, LagMs: 42_000},
	}
	var views []plan.View
	for _, h := range headroom {
		views = append(views, plan.ViewOf(h))
	}
	for _, m := range plan.Moves(views, plan.Limits{}) {
		fmt.Printf("%s %d from %s to %s: %s\n", m.Kind, m.Count, m.From, m.To, m.Why)
	}
	for _, line := range plan.Explain(views, plan.Limits{}) {
		fmt.Println(line)
	}
	// Output:
	// move 98 from us-east-1 to eu-west-1: eu-west-1 expects 120 new leases in 10 min and has 35 free with 20 returning; us-east-1 has a surplus of 500: 98 are transferred
	// eu-west-1 expects 120 new leases in 10 min and has 35 free with 20 returning: the region gets 98
	// us-east-1 expects 500 new leases in 10 min and has 900 free with 100 returning: enough, with a surplus of 500
	// us-west-2 expects 300 new leases in 10 min and has 10 free: 290 short, and nothing is sent because its replication lag is 42.0 s, above the limit of 10.0 s
}
