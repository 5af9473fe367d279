package balancer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/forecast"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
)

func (r *harness) refused(region string, n int64) {
	r.t.Helper()
	r.fold(&eventspb.LeaseChange{Region: region, Client: "c", Pool: "p", AtMs: r.nowMs, Row: &eventspb.LeaseChange_Demand{
		Demand: &eventspb.LeaseDemand{Region: region, Refused: n},
	}})
}

func (r *harness) settings(m *eventspb.LeasePool) {
	r.t.Helper()
	r.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: r.nowMs, Row: &eventspb.LeaseChange_Settings{Settings: m}})
}

func (r *harness) region(m *eventspb.LeaseRegion) {
	r.t.Helper()
	r.fold(&eventspb.LeaseChange{Region: m.Region, AtMs: r.nowMs, Row: &eventspb.LeaseChange_RegionRow{RegionRow: m}})
}

// A new lease is an arrival, and so is a refused key. A renewal, a scanned row, a repeated change
// and the first change of a resource are not.
func TestArrivals(t *testing.T) {
	w := newFixture(t, 1)
	w.stock("eu", 4)
	seen := func() float64 { return w.b.order[0].regions[0].series.Arrivals() }
	steps := []struct {
		what string
		do   func()
		want float64
	}{
		{"nothing", func() {}, 0},
		{"two leases", func() { w.take("eu", 2, 60_000) }, 2},
		{"a renewal", func() { m := w.rows["res-0000"]; m.ExpiresMs += 1000; w.write(m) }, 2},
		{"all changes repeated", func() { w.fold(w.past...) }, 2},
		{"the next holder", func() { m := w.rows["res-0000"]; m.Holder = "p#next"; w.write(m) }, 3},
		{"a lease seen by a scan", func() {
			m := w.rows["res-0002"]
			m.Version, m.Holder, m.ExpiresMs, m.AvailableMs = m.Version+1, "p#x", w.nowMs+1000, 0
			c := w.change("p", m)
			c.Scanned = true
			w.fold(c)
		}, 3},
		{"a resource never seen", func() {
			w.write(&eventspb.LeaseResource{Resource: "other", Version: 7, Owner: "eu", Holder: "p#y", ExpiresMs: w.nowMs})
		}, 3},
		{"the first count of refusals", func() { w.refused("eu", 50) }, 3},
		{"three more", func() { w.refused("eu", 53) }, 6},
		{"an old count, repeated", func() { w.refused("eu", 51) }, 6},
		{"one more", func() { w.refused("eu", 54) }, 7},
	}
	for _, s := range steps {
		if s.do(); seen() != s.want {
			t.Errorf("%s: %v arrivals, want %v", s.what, seen(), s.want)
		}
		w.pass(100)
	}
}

// A resource of the open transaction, which is not in the store yet, can be moved.
func TestLateOnesMove(t *testing.T) {
	w := newFixture(t, 1)
	w.stock("us", 10)
	w.region(&eventspb.LeaseRegion{Region: "us", Version: 1, State: plan.StateEvacuating})
	w.commit()
	w.heartbeats()
	w.b.plannedMs = 0 // a plan is due
	w.pass(2000)
	list, _, _ := w.commands()
	if len(list) != 10 {
		t.Errorf("%d of 10 were moved", len(list))
	}
	w.heartbeats()
	w.pass(11_000)
	if list, _, _ := w.commands(); len(list) != 0 {
		t.Errorf("and %d once more", len(list))
	}
}

// A swing moves resources to the region before the traffic arrives there.
func TestSwingMovesBeforeTheTraffic(t *testing.T) {
	w := newFixture(t, 1)
	w.stock("eu", 900)
	now := 0
	for i := range 120 { // a quarter of an hour
		w.heartbeats()
		w.take("eu", 3, 3_600_000)
		w.pass(7000)
		now = i
	}
	if list, _, _ := w.commands(); len(list) > 0 {
		t.Fatalf("%d moved without a swing after %d rounds", len(list), now)
	}
	w.region(&eventspb.LeaseRegion{Region: "eu", Version: 1, SwingTo: "us", SwingPercent: 50})
	moved := map[string]int{}
	for range 10 {
		w.heartbeats()
		w.pass(2000)
		list, _, _ := w.commands()
		for _, c := range list {
			moved[c.GetTransfer().To]++
		}
	}
	if moved["us"] < 50 || moved["ap"] > 0 {
		t.Errorf("moved %v", moved)
	}
	level := func(region int) float64 {
		rate, _ := w.b.order[0].regions[region].series.Forecast(forecast.EWMA, nil)
		return rate
	}
	before := level(0) + level(1)
	w.region(&eventspb.LeaseRegion{Region: "eu", Version: 2})
	if eu, us := level(0), level(1); us > 1e-9 || math.Abs(eu-before) > 1e-9 {
		t.Errorf("after the swing's end eu expects %v, us %v of %v", eu, us, before)
	}
}

// A bridge that is behind reads old changes and old heartbeats: nothing moves, and the changes are
// not taken for a burst.
func TestBridgeThatIsBehind(t *testing.T) {
	w := newFixture(t, 1)
	w.stock("us", 500)
	w.stock("eu", 400)
	w.commit()
	read := w.nowMs + 3_600_000 // an hour's changes are read within a minute
	for i := range 300 {
		w.readMs = read
		w.take("eu", 1, 7_200_000)
		for _, at := range regions3 {
			if bad := w.fold(&eventspb.LeaseChange{Region: at, AtMs: read, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{
				From: at, WrittenMs: w.nowMs, SeenMs: read, LagMs: read - w.nowMs,
			}}}); len(bad) > 0 {
				t.Fatal(bad)
			}
		}
		w.nowMs += 12_000
		if read += 200; i%10 == 0 {
			now := w.nowMs
			w.nowMs = read
			w.commit()
			w.nowMs = now
		}
	}
	if list, _, _ := w.commands(); len(list) > 0 {
		t.Errorf("%d moves from stale counts", len(list))
	}
	rate, _ := w.b.order[0].regions[0].series.Forecast(forecast.EWMA, nil)
	if math.Abs(rate-1.0/12) > 0.02 {
		t.Errorf("a lease each twelve seconds is forecast as %v a second", rate)
	}
}

// Each condition that prevents moves, and its reason in the headroom.
func TestWhatKeepsMovesBack(t *testing.T) {
	beat := func(w *fixture, at, from string) {
		w.fold(&eventspb.LeaseChange{Region: at, AtMs: w.nowMs, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{
			From: from, WrittenMs: w.nowMs - 50, SeenMs: w.nowMs,
		}}})
	}
	own := func(w *fixture) {
		for _, r := range regions3 {
			beat(w, r, r)
		}
	}
	for _, c := range []struct {
		what  string
		each  func(w *fixture)
		moves bool
		state string
		lag   bool
	}{
		{"nothing", func(w *fixture) { w.heartbeats() }, true, plan.StateActive, false},
		{"switched off", func(w *fixture) { w.heartbeats(); w.settings(&eventspb.LeasePool{Version: 9, Balance: "off"}) }, false, plan.StateOff, false},
		{"the table is read", func(w *fixture) {
			w.heartbeats()
			m := &eventspb.LeaseResource{Resource: fmt.Sprint("new", w.nowMs), Version: 1, Owner: "us", AvailableMs: 1}
			ch := w.change("p", m)
			ch.Scanned = true
			w.fold(ch)
		}, false, plan.StateReading, false},
		{"eu never saw the others", own, false, plan.StateActive, true},
		{"eu saw the others once", func(w *fixture) {
			own(w)
			if w.nowMs < start+2000 {
				w.heartbeats()
			}
		}, false, plan.StateActive, true},
		{"eu is behind its stream", func(w *fixture) {
			w.heartbeats()
			w.fold(&eventspb.LeaseChange{Region: "eu", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{From: "eu", WrittenMs: w.nowMs, LagMs: 20_000}}})
		}, false, plan.StateSilent, false},
		{"eu is adopted", func(w *fixture) {
			w.heartbeats()
			w.region(&eventspb.LeaseRegion{Region: "eu", Version: 3, State: plan.StateAdopted})
		}, false, plan.StateAdopted, false},
	} {
		w := newFixture(t, 1)
		w.stock("us", 500)
		for i := range 20 { // half a minute: a lag of more than the allowed comes about
			c.each(w)
			if i > 8 {
				w.refused("eu", int64(10*i))
			}
			w.pass(1500)
		}
		list, _, headroom := w.commands()
		if (len(list) > 0) != c.moves {
			t.Errorf("%s: %d moves", c.what, len(list))
		}
		last := map[string]*eventspb.LeaseHeadroom{}
		for _, h := range headroom {
			last[h.Region] = h
		}
		if h := last["eu"]; h.State != c.state || (h.LagMs < 0 || h.LagMs > 10_000) != c.lag {
			t.Errorf("%s: the headroom has state %q and a lag of %d", c.what, h.State, h.LagMs)
		}
	}
}

// TestAdoptionIsNoted: the adoption of a region, and its end, are in the journal, once each: of one
// partition, and not again after a restart. An adoption before the first change is not in
// the journal.
func TestAdoptionIsNoted(t *testing.T) {
	adopted := func(version int64) *eventspb.LeaseRegion {
		return &eventspb.LeaseRegion{Region: "us", Version: version, State: plan.StateAdopted, AdoptedBy: "eu"}
	}
	for _, c := range []struct {
		what      string
		partition int32
		rows      []*eventspb.LeaseRegion
		want      []string
	}{
		{"adopted and readmitted", 0, []*eventspb.LeaseRegion{{Region: "us", Version: 1}, adopted(2), adopted(2), adopted(3), {Region: "us", Version: 4}}, []string{
			"adopt us>eu: eu adopts the resources of us, which is lost: each can be leased again after the longest lease of its pool and a quarantine",
			"readmit us>: us is active again; the resources that eu adopted stay there",
		}},
		{"another partition", 1, []*eventspb.LeaseRegion{{Region: "us", Version: 1}, adopted(2)}, nil},
		{"adopted long ago", 0, []*eventspb.LeaseRegion{adopted(2)}, nil},
	} {
		h := newHarness(t, Config{Regions: regions3})
		h.partition = c.partition
		h.open()
		for _, m := range c.rows {
			h.fold(&eventspb.LeaseChange{Region: "eu", AtMs: h.nowMs, Row: &eventspb.LeaseChange_RegionRow{RegionRow: m}})
			h.commit()
			h.open()
		}
		_, notes, _ := h.commands()
		var got []string
		for _, n := range notes {
			if got = append(got, n.Kind+" "+n.From+">"+n.To+": "+n.Text); n.AtMs != start || n.By != "balancer" || n.Pool != "" {
				t.Errorf("%s: %v", c.what, n)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// An invalid record is rejected with its reason and leaves no trace; its neighbours are applied.
func TestRejects(t *testing.T) {
	resource := func(f func(c *eventspb.LeaseChange, m *eventspb.LeaseResource)) *eventspb.LeaseChange {
		m := &eventspb.LeaseResource{Resource: "a", Version: 3, Owner: "eu", AvailableMs: start}
		c := &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: start, Row: &eventspb.LeaseChange_Resource{Resource: m}}
		f(c, m)
		return c
	}
	pool := func(m *eventspb.LeasePool) *eventspb.LeaseChange {
		return &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: start, Row: &eventspb.LeaseChange_Settings{Settings: m}}
	}
	region := func(m *eventspb.LeaseRegion) *eventspb.LeaseChange {
		return &eventspb.LeaseChange{Region: "eu", AtMs: start, Row: &eventspb.LeaseChange_RegionRow{RegionRow: m}}
	}
	demand := func(m *eventspb.LeaseDemand) *eventspb.LeaseChange {
		return &eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: start, Row: &eventspb.LeaseChange_Demand{Demand: m}}
	}
	type (
		C = *eventspb.LeaseChange
		M = *eventspb.LeaseResource
	)
	for _, x := range []struct {
		reason string
		change C
	}{
		{changes.ReasonNoRow, &eventspb.LeaseChange{Region: "eu", AtMs: start}},
		{changes.ReasonUnknownRegion, resource(func(c C, _ M) { c.Region = "mars" })},
		{changes.ReasonUnknownRegion, resource(func(_ C, m M) { m.Owner = "mars" })},
		{changes.ReasonUnknownRegion, demand(&eventspb.LeaseDemand{Region: "mars"})},
		{changes.ReasonUnknownRegion, region(&eventspb.LeaseRegion{Region: "mars", Version: 1})},
		{changes.ReasonUnknownRegion, region(&eventspb.LeaseRegion{Region: "eu", Version: 1, SwingTo: "mars"})},
		{changes.ReasonUnknownRegion, region(&eventspb.LeaseRegion{Region: "eu", Version: 1, SwingTo: "eu"})},
		{changes.ReasonUnknownRegion, &eventspb.LeaseChange{Region: "eu", AtMs: start, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{From: "mars"}}}},
		{changes.ReasonBadTime, resource(func(c C, _ M) { c.AtMs = start + 400_000 })},
		{changes.ReasonBadTime, resource(func(c C, _ M) { c.AtMs = 0 })},
		{changes.ReasonBadTime, &eventspb.LeaseChange{Region: "eu", AtMs: start, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{From: "eu", WrittenMs: start + 400_000}}}},
		{changes.ReasonBadTime, resource(func(_ C, m M) { m.AvailableMs = -1 })},
		{changes.ReasonBadTime, resource(func(_ C, m M) { m.ExpiresMs = math.MaxInt64 })},
		{changes.ReasonBadSettings, pool(&eventspb.LeasePool{Version: 1, QuarantineMs: -1})},
		{changes.ReasonBadVersion, resource(func(_ C, m M) { m.Version = 0 })},
		{changes.ReasonBadVersion, pool(&eventspb.LeasePool{})},
		{changes.ReasonBadVersion, region(&eventspb.LeaseRegion{Region: "eu"})},
		{changes.ReasonHeldAndAvailable, resource(func(_ C, m M) { m.Holder = "p#k" })},
		{changes.ReasonBadSettings, pool(&eventspb.LeasePool{Version: 1, Balance: "maybe"})},
		{changes.ReasonBadSettings, pool(&eventspb.LeasePool{Version: 1, Forecast: "tea leaves"})},
		{changes.ReasonBadSettings, pool(&eventspb.LeasePool{Version: 1, Floors: map[string]int64{"eu": -1}})},
		{changes.ReasonBadState, region(&eventspb.LeaseRegion{Region: "eu", Version: 1, State: "asleep"})},
		{changes.ReasonBadState, region(&eventspb.LeaseRegion{Region: "eu", Version: 1, SwingTo: "us", SwingPercent: 101})},
		{changes.ReasonBadState, demand(&eventspb.LeaseDemand{Region: "eu", Refused: -1})},
		{changes.ReasonBadName, resource(func(c C, _ M) { c.Client = "" })},
		{changes.ReasonBadName, resource(func(c C, _ M) { c.Pool = "a\x00b" })},
		{changes.ReasonBadName, resource(func(_ C, m M) { m.Resource = "" })},
	} {
		r := newHarness(t, Config{Regions: regions3})
		r.fold(resource(func(C, M) {}))
		before := decisionState(r.b)
		bad := r.fold(x.change)
		if len(bad) != 1 || bad[0].Reason != x.reason || bad[0].Detail == "" {
			t.Errorf("%v: %+v, want %s", x.change, bad, x.reason)
		}
		if after := decisionState(r.b); after != before {
			t.Errorf("%v left a trace:\n%s\n%s", x.change, before, after)
		}
		good := resource(func(_ C, m M) { m.Resource = "b" })
		v, _ := proto.Marshal(good)
		w, _ := proto.Marshal(x.change)
		if bad := r.foldValues("lease.changes", w, v, []byte{0xff}); len(bad) != 2 || bad[1].Reason != changes.ReasonUndecodable || r.b.order[0].stock() != 2 {
			t.Errorf("%v: %+v and %d resources", x.change, bad, r.b.order[0].stock())
		}
	}
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{
		{},
		{Regions: []string{"a", "a"}},
		{Regions: []string{""}},
		{Regions: regions3, Results: "lease.changes"},
		{Regions: regions3, Margin: -1},
		{Regions: regions3, PlanInterval: 1},
		{Regions: regions3, ReturnShare: 2},
		{Regions: regions3, MaxCommands: -1},
		{Regions: regions3, Limits: plan.Limits{Fill: 0.5}},
		{Regions: regions3, Limits: plan.Limits{DeadBand: -1}},
		{Regions: regions3, Limits: plan.Limits{MaxMoved: -1}},
		{Regions: regions3, Limits: plan.Limits{LowWater: 1 << 60}},
	} {
		if c.Check() == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
	if err := (Config{Regions: regions3}).Check(); err != nil {
		t.Error(err)
	}
}
