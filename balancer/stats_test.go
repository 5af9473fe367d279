package balancer

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events/eventspb"
)

// The figures are those that the fixture saw. The audit checks that each transfer is in one of
// them.
func TestStats(t *testing.T) {
	w := newFixture(t, 13)
	w.stock("us", 500)
	w.stock("eu", 20)
	w.commit()
	pace := int64(0)
	for i := range 200 {
		w.heartbeats()
		if i == 100 {
			w.fold(&eventspb.LeaseChange{Region: "ap", AtMs: w.nowMs, Row: &eventspb.LeaseChange_RegionRow{
				RegionRow: &eventspb.LeaseRegion{Region: "ap", Version: 1, State: plan.StateEvacuating},
			}})
		}
		if refused := w.take("eu", 4, 20_000); refused > 0 {
			pace += int64(refused)
			w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Demand{
				Demand: &eventspb.LeaseDemand{Region: "eu", Refused: pace},
			}})
		}
		if w.live(); i%20 == 0 {
			w.take("us", 500, 5_000) // what is commanded is overtaken
		}
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
		w.pass(1000)
		if s := w.b.Stats(); i == 50 && (len(s.ShortPools) != 3 || s.ShortPools[0] != 1 || s.ShortPools[2] != 0 || s.RegionStates[0] != plan.StateActive || s.Pools != 1) {
			t.Errorf("%+v, want eu to be short", s)
		}
	}
	s, arrived := w.b.Stats(), 0
	for way, n := range w.moved {
		arrived += n
		from, to, _ := strings.Cut(way, ">")
		if commanded := s.Moved[MovePath{plan.KindMove, from, to}] + s.Moved[MovePath{plan.KindPull, from, to}]; commanded < int64(n) {
			t.Errorf("%d arrived by %s, %d were commanded", n, way, commanded)
		}
	}
	if s.Arrived != int64(arrived) || arrived == 0 || s.Refused+s.Overtaken < int64(w.failed) || w.failed == 0 || s.RegionStates[2] != plan.StateEvacuating {
		t.Errorf("%+v, and %d arrived, %d did not", s, arrived, w.failed)
	}
	// Commands are no longer carried out: the resources are in transit until the timeout, and are
	// given up.
	w.stock("us", 100)
	oldest := int64(0)
	for range 90 {
		w.heartbeats()
		pace += 3
		w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Demand{
			Demand: &eventspb.LeaseDemand{Region: "eu", Refused: pace},
		}})
		w.pass(1000)
		oldest = max(oldest, w.b.Stats().OldestTransferMs)
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
	}
	if s := w.b.Stats(); s.Expired == 0 || s.InTransit == 0 || oldest < 69_000 || oldest > 71_000 {
		t.Errorf("%+v, the oldest was %d ms old", s, oldest)
	}
}
