package pack

import (
	"math"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
)

// FuzzRestore: whatever a pack contains, the account that goes on from it has valid parameters, and
// packs of its own nodes alone.
func FuzzRestore(f *testing.F) {
	arms := []budget.Arm{{ID: "a", PPM: 500_000}, {ID: "b", PPM: 500_000}}
	campaigns := []budget.Campaign{{ID: "c", Limit: daily(10), Arms: arms}, {ID: "d", Shared: "s"}}
	a, _ := account(f, 1, []budget.Shared{{ID: "s", Limit: daily(5)}}, campaigns...)
	for i := range int64(3) {
		tick(f, a, noon()+i*tickMs, row("c", day1, float64(i)), row("d", day1, float64(i)))
	}
	m := a.Pack(0)
	add := func() {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add()
	m.Campaigns[0].State.Probability, m.Campaigns[0].State.AtMs = -1, 0
	add()
	m.Campaigns[0].Multiplier, m.Shared[0].State.Rate, m.Part = 7, -5, math.MaxInt32
	add()
	f.Fuzz(func(t *testing.T, value []byte) {
		m := &eventspb.AccountPack{}
		if proto.Unmarshal(value, m) != nil {
			t.Skip()
		}
		b := New("acme", a.pacer)
		b.SetVersions(a.versions)
		b.Restore([]*eventspb.AccountPack{m})
		for i := range int64(4) {
			tick(t, b, noon()+(10+i)*tickMs, row("c", day1, 3), row("d", day1, 3))
			for i := range b.nodes {
				if !b.nodes[i].params.Valid() {
					t.Fatalf("%v: %+v", b.nodes[i].nodeKey, b.nodes[i].params)
				}
			}
			b.Former()
		}
		if list := packs(t, b); len(list) != 1 || len(list[0].GetShared()) != 1 || len(list[0].GetCampaigns()) != 2 {
			t.Fatalf("%v", list)
		}
	})
}
