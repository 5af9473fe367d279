package metrics

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/stream"
)

// nowMs is when the tests begin.
const nowMs = int64(1_700_000_000_000)

// fold folds one change of a lease row into h.
func fold(t *testing.T, h stream.Handler, c *eventspb.LeaseChange) {
	t.Helper()
	c.Client, c.Pool = "c", "p"
	value, err := proto.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	b := &stream.Batch{Topic: events.LeaseChangesTopic, Records: []stream.Record{{Value: value, TimeMs: c.AtMs}}}
	if err := h.Fold(b); err != nil || len(b.Rejects) > 0 {
		t.Fatal(err, b.Rejects)
	}
}

// TestLiberatorMetrics: each lease's delay is observed once, and a handler that takes the partition
// over neither repeats nor resets the counters.
func TestLiberatorMetrics(t *testing.T) {
	registry := obs.NewRegistry("test")
	m := NewLease(registry)
	var set *timers
	makeHandler := func() stream.Handler {
		task := taskWith(nil)
		set = task.Timers.(*timers)
		core, err := liberator.New(liberator.Config{
			Output: func(region string) (string, bool) { return events.LeaseCommandsTopic(region), true },
		}, task)
		if err != nil {
			t.Fatal(err)
		}
		return m.liberator.observe(core, 3)
	}
	flush := func(h stream.Handler) {
		t.Helper()
		if err := h.Flush(stream.Commit{}, &stream.Changes{}); err != nil {
			t.Fatal(err)
		}
	}
	// release ends n leases, 2 s after their deadline.
	release := func(h stream.Handler, n int) {
		t.Helper()
		fold(t, h, &eventspb.LeaseChange{Region: "eu", AtMs: nowMs, Row: &eventspb.LeaseChange_Settings{
			Settings: &eventspb.LeasePool{Version: 1, Buckets: 8},
		}})
		for i := range n {
			fold(t, h, &eventspb.LeaseChange{Region: "eu", AtMs: nowMs, Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{
				Resource: fmt.Sprint("r", i), Version: 2, Owner: "eu", Holder: "p#k", ExpiresMs: nowMs,
			}}})
		}
		if err := h.(stream.TimerHandler).OnTimer(nowMs+2000, set.set); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, leases float64, released int) {
		t.Helper()
		all := series(t, registry)
		for name, value := range map[string]float64{
			"weir_liberator_commands_total{}":               float64(released),
			"weir_liberator_lease_end_to_command_seconds{}": float64(released),
			"weir_liberator_repeated_commands_total{}":      0,
			"weir_liberator_leases{partition=3}":            leases,
		} {
			if got, ok := all[name]; !ok || got != value {
				t.Errorf("%s: %s is %v (%t), want %v", when, name, got, ok, value)
			}
		}
	}
	h := makeHandler()
	release(h, 5)
	flush(h)
	want("after the first transaction", 5, 5)
	flush(h)
	want("after an idle transaction", 5, 5)
	h.(stream.Closer).Close()
	h = makeHandler()
	release(h, 2)
	flush(h)
	want("after a takeover", 2, 7)
}

// TestBalancerMetrics compares the metrics with the commands that the balancer sent.
func TestBalancerMetrics(t *testing.T) {
	registry := obs.NewRegistry("test")
	m := NewLease(registry)
	regions := []string{"eu", "us"}
	core, err := balancer.New(balancer.Config{Regions: regions}, taskWith(nil))
	if err != nil {
		t.Fatal(err)
	}
	h := m.balancer.observe(core, 7, regions)
	now := nowMs
	change := func(c *eventspb.LeaseChange) {
		t.Helper()
		c.AtMs = now
		fold(t, h, c)
	}
	for i := range 100 {
		change(&eventspb.LeaseChange{Region: "us", Row: &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{
			Resource: fmt.Sprint("r", i), Version: 1, Owner: "us", AvailableMs: now,
		}}})
	}
	for i := range 40 {
		now += 1000
		for _, at := range regions {
			for _, from := range regions {
				change(&eventspb.LeaseChange{Region: at, Row: &eventspb.LeaseChange_Heartbeat{
					Heartbeat: &eventspb.LeaseHeartbeat{From: from, WrittenMs: now, SeenMs: now},
				}})
			}
		}
		change(&eventspb.LeaseChange{Region: "eu", Row: &eventspb.LeaseChange_Demand{Demand: &eventspb.LeaseDemand{Region: "eu", Refused: int64(i)}}})
		if err := h.(stream.TimerHandler).OnTimer(now, nil); err != nil {
			t.Fatal(err)
		}
	}
	var ch stream.Changes
	if err := h.Flush(stream.Commit{}, &ch); err != nil {
		t.Fatal(err)
	}
	commanded := 0
	for _, c := range ch.List {
		x := &eventspb.LeaseCommand{}
		if c.Op == stream.OpEmit && c.Output() == events.LeaseCommandsTopic(regions[1]) && proto.Unmarshal(c.Value, x) == nil && x.GetTransfer() != nil {
			commanded++
		}
	}
	all := series(t, registry)
	for name, want := range map[string]float64{
		"weir_balancer_pools{partition=7}":                               1,
		"weir_balancer_resources_in_transit{partition=7}":                float64(commanded),
		"weir_balancer_finished_transfers_total{outcome=arrived}":        0,
		"weir_balancer_region_state{partition=7 region=eu state=active}": 1,
		"weir_balancer_region_state{partition=7 region=eu state=silent}": 0,
		"weir_balancer_short_pools{partition=7 region=us}":               0,
		"weir_balancer_timer_run_seconds{}":                              40,
	} {
		if got, ok := all[name]; !ok || got != want {
			t.Errorf("%s is %v (%t), want %v", name, got, ok, want)
		}
	}
	if age := all["weir_balancer_oldest_transfer_seconds{partition=7}"]; age <= 0 || age > 40 {
		t.Errorf("the oldest transfer is %v s old, want at most 40", age)
	}
	moved := 0.0
	for _, kind := range []string{plan.KindMove, plan.KindPull} {
		moved += all["weir_balancer_transfers_total{from=us kind="+kind+" to=eu}"]
	}
	if moved != float64(commanded) || moved == 0 {
		t.Errorf("%d resources were commanded, the counters have %v: %v", commanded, moved, all)
	}
}
