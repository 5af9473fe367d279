package pack

import (
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// TestPeers: the packs of another datacentre count for shared budgets, campaigns and arms, while
// they are of the day, not older than PeerAge, and moved by their controller.
func TestPeers(t *testing.T) {
	for _, newDocument := range []bool{false, true} {
		t.Run(fmt.Sprint("a new document at the new day ", newDocument), func(t *testing.T) { testPeers(t, newDocument) })
	}
}

func testPeers(t *testing.T, newDocument bool) {
	t.Helper()
	campaigns := []budget.Campaign{
		{ID: "a", Limit: daily(100), Shared: "all"},
		{ID: "b", Limit: daily(100), Arms: []budget.Arm{{ID: "x", PPM: 500_000}, {ID: "y", PPM: 500_000}}},
	}
	shared := []budget.Shared{{ID: "all", Limit: daily(150)}}
	a, _ := account(t, 1, shared, campaigns...)
	other, _ := account(t, 1, shared, campaigns...)
	at := noon()
	for i := range 5 {
		at = noon() + int64(i)*tickMs
		spent := float64(30 + i)
		tick(t, a, at, row("a", day1, spent), row("b", day1, spent))
		tick(t, other, at, row("a", day1, spent), row("b", day1, spent))
	}
	list := packs(t, other)
	if len(list) != 1 {
		t.Fatalf("%d packs", len(list))
	}
	sent := list[0]
	sent.WriterDc = "us"
	counts := func(at int64) (n []int) {
		for i := range a.nodes {
			n = append(n, a.nodes[i].peersAt(at).Count)
		}
		return n
	}
	expect := func(what string, want int, at int64) {
		t.Helper()
		for i, n := range counts(at) {
			if n != want {
				t.Errorf("%s: node %q has %v peers, want %v", what, a.nodes[i].id, n, want)
			}
		}
	}
	expect("before", 0, at)
	a.Observe(sent)
	a.Observe(sent)
	expect("observed twice", 1, at)
	for i := range a.nodes {
		got, want := a.nodes[i].peersAt(at).Log, math.Log(other.nodes[i].pace.Probability)
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%q: %v, want %v", a.nodes[i].id, got, want)
		}
	}
	expect("too old", 0, at+PeerAge.Milliseconds()+1)
	expect("a clock that is ahead", 0, at-PeerAge.Milliseconds()-1)

	third := proto.CloneOf(sent)
	third.WriterDc = "ap"
	a.Observe(third)
	expect("two datacentres", 2, at)

	third.BudgetDay++
	third.AtMs -= time.Hour.Milliseconds()
	a.Observe(third)
	expect("another day", 2, at)

	held := proto.CloneOf(sent)
	nodes := append(append([]*eventspb.PacedNode{}, held.Shared...), held.Campaigns...)
	nodes = append(nodes, held.GetCampaigns()[1].GetArms()...)
	for _, n := range nodes {
		n.Reason = string(control.Stale)
	}
	a.Observe(held)
	expect("held", 1, at)
	for _, n := range nodes {
		n.Reason, n.LimitedBy = string(control.Ahead), "all"
	}
	a.Observe(held)
	expect("limited", 1, at)
	for _, n := range nodes { // of another controller
		n.Reason, n.LimitedBy = string(control.Ahead), ""
		n.State.Dual, n.State.Multiplier, n.Controller = 2, 0.5, "dual"
	}
	a.Observe(held)
	expect("with a dual", 1, at)
	for _, n := range nodes {
		n.State.Probability, n.State.Dual, n.Controller = math.NaN(), 0, ""
	}
	a.Observe(held)
	a.Observe(&eventspb.AccountPack{})
	a.Observe(&eventspb.AccountPack{BudgetDay: int32(day1), WriterDc: "us", Campaigns: []*eventspb.PacedNode{{Id: "gone"}, {Id: "a"}}})
	expect("not valid", 1, at)

	// A new document keeps what is known, and a new day does not.
	a.Observe(sent)
	d := document(t, 2, shared, campaigns...)
	d.Campaigns[0].Limit = daily(120)
	a.SetVersions(budget.Versions{}.Add(d))
	at += tickMs
	tick(t, a, at, row("a", day1, 35), row("b", day1, 35))
	expect("a new document", 2, at)
	a.Observe(sent)
	at += 12 * time.Hour.Milliseconds()
	for i := range a.nodes {
		a.nodes[i].peers = []peer{{at: uint32(at / 1000)}}
	}
	expect("of now", 1, at)
	if newDocument {
		d = document(t, 3, shared, campaigns...)
		a.SetVersions(budget.Versions{}.Add(d))
	}
	tick(t, a, at)
	expect("a new day", 0, at)
	for i := range a.nodes {
		a.nodes[i].peers = []peer{{at: uint32(at / 1000)}}
	}
	d = document(t, 4, shared, campaigns...)
	for i := range d.Shared {
		d.Shared[i].Limit.Controller = "pid"
	}
	for i := range d.Campaigns {
		d.Campaigns[i].Limit.Controller = "pid"
	}
	a.SetVersions(budget.Versions{}.Add(d))
	at += tickMs
	tick(t, a, at)
	expect("another controller", 0, at)
}
