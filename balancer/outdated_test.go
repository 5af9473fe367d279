package balancer

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

// Resources moved to another pool during a gap of the stream: only a scan shows their new pool.
// They are commanded in vain once, and the old pool counts them no longer.
func TestResourceThatChangedPoolUnseen(t *testing.T) {
	w := newFixture(t, 9)
	w.pace = 1 << 30
	w.stock("us", 200)
	for _, name := range w.names[:50] {
		m := w.rows[name]
		m.Version++
		c := w.change("other", m)
		c.Scanned = true
		w.fold(c)
	}
	w.commit()
	vain := map[string]int{}
	for range 300 {
		w.heartbeats()
		w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Demand{
			Demand: &eventspb.LeaseDemand{Region: "eu", Refused: (w.nowMs - start) / 500},
		}})
		for _, o := range w.out {
			c := &eventspb.LeaseCommand{}
			if !isCommand(o.Output()) || proto.Unmarshal(o.Value, c) != nil || c.GetTransfer() == nil {
				continue
			}
			if name := c.GetTransfer().Resource; c.Pool == "p" && slices.Contains(w.names[:50], name) {
				vain[name]++
			}
		}
		w.live()
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
		w.pass(1000)
	}
	if len(vain) != 50 {
		t.Errorf("%d of the 50 were commanded: the test covers too little", len(vain))
	}
	for name, n := range vain {
		if n > 1 {
			t.Errorf("%s is in the other pool and was commanded %d times", name, n)
		}
	}
	if p, other := w.b.pool("c", "p").stock(), w.b.pool("c", "other").stock(); p != 150 || other != 50 {
		t.Errorf("%d resources in the pool, %d in the other, want 150 and 50", p, other)
	}
	if err := w.same(); err != nil {
		t.Error(err)
	}
}

// The final state does not depend on the order of changes and results: see LEASE-43.
func TestResultsInAnyOrder(t *testing.T) {
	gone := 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 11))
		var list []func(r *harness)
		m := &eventspb.LeaseResource{Resource: "a", Owner: "us", AvailableMs: start}
		for version := range 2 + rng.Int64N(5) {
			m.Version = version + 1
			if m.Holder, m.ExpiresMs, m.AvailableMs = "", 0, start; rng.IntN(2) == 0 {
				m.Holder, m.ExpiresMs, m.AvailableMs = "p#k", start+60_000, 0
			}
			if kept := proto.CloneOf(m); version == 0 || rng.IntN(3) > 0 {
				left := version > 0 && rng.IntN(4) == 0
				list = append(list, func(r *harness) {
					c := r.change("p", kept)
					c.Gone = left
					r.fold(c)
				})
			}
		}
		for range rng.IntN(4) {
			version, outcome := rng.Int64N(8), eventspb.LeaseOutcome(rng.IntN(7))
			list = append(list, func(r *harness) { r.result("a", version, outcome) })
		}
		var want map[string]row
		for range 6 {
			r := newHarness(t, Config{Regions: regions3})
			for i, step := range list {
				if step(r); rng.IntN(3) == 0 {
					r.commit()
				}
				if err := r.audit(); i > 0 && err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			}
			got := r.rows()
			for name, x := range got {
				if x.gone { // the holder only serves to recognize a lease
					x.holder, x.owner, x.expires, x.available = 0, "", 0, 0
					got[name] = x
				}
			}
			if want == nil {
				want = got
			}
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d: in another order %+v, was %+v", seed, got, want)
			}
			if got[joinNames("c", "p", "a")].gone {
				gone++
			}
			rng.Shuffle(len(list)-1, func(i, j int) { list[i+1], list[j+1] = list[j+1], list[i+1] }) // the first change precedes all results
		}
	}
	if gone == 0 || gone == 400*6 {
		t.Errorf("gone in %d runs: the test covers too little", gone)
	}
}

// A lease that is renewed while a transfer of its resource is refused is one arrival, as without
// the transfer.
func TestRenewalIsNotAnArrival(t *testing.T) {
	r := newHarness(t, Config{Regions: regions3})
	m := &eventspb.LeaseResource{Resource: "a", Owner: "us", AvailableMs: start, Version: 1}
	r.fold(r.change("p", m))
	m.Version, m.Holder, m.AvailableMs, m.ExpiresMs = 2, "p#k", 0, start+60_000
	r.fold(r.change("p", m))
	r.commit()
	r.result("a", 5, eventspb.LeaseOutcome_LEASE_OUTCOME_STALE)
	for m.Version < 5 {
		m.Version, m.ExpiresMs = m.Version+1, m.ExpiresMs+10_000
		r.fold(r.change("p", m))
	}
	if n := r.b.pool("c", "p").regions[r.b.region("us")].series.Arrivals(); n != 1 {
		t.Errorf("%v arrivals of one lease", n)
	}
}

// result folds the result of a transfer.
func (r *harness) result(resource string, version int64, outcome eventspb.LeaseOutcome) {
	r.t.Helper()
	v, err := proto.Marshal(&eventspb.LeaseResult{
		Id: "transfer-x", Client: "c", Pool: "p", Region: "us", Kind: "transfer", Resource: resource, Outcome: outcome, Version: version, DoneMs: r.nowMs,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.foldValues("lease.results", v)
}

// A resource that is not available yet by the executor's clock is commanded again some seconds
// later; after another refusal it is commanded again after a minute.
func TestEarlyIsSoonAgain(t *testing.T) {
	for outcome, least := range map[eventspb.LeaseOutcome]int{eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY: 3, eventspb.LeaseOutcome_LEASE_OUTCOME_INVALID: 0} {
		w := newFixture(t, 9)
		w.pace = 1 << 30
		w.stock("us", 30)
		w.commit()
		often := map[string]int{}
		for i := range 40 {
			w.heartbeats()
			w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Demand{
				Demand: &eventspb.LeaseDemand{Region: "eu", Refused: int64(i)},
			}})
			list, _, _ := w.commands()
			for _, c := range list {
				x := c.GetTransfer()
				if x == nil {
					continue
				}
				often[x.Resource]++
				v, err := proto.Marshal(&eventspb.LeaseResult{
					Id: c.Id, Client: "c", Pool: "p", Region: c.Region, Kind: "transfer", Resource: x.Resource, Outcome: outcome, Version: x.Version, DoneMs: w.nowMs,
				})
				if err != nil {
					t.Fatal(err)
				}
				w.foldValues("lease.results", v)
			}
			w.pass(1000)
		}
		if err := w.audit(); err != nil {
			t.Error(err)
		}
		most := 0
		for _, n := range often {
			most = max(most, n)
		}
		if most > 8 || least > 0 && most < least || least == 0 && most != 1 {
			t.Errorf("%v: one resource is commanded %d times in 40 s, want %d or more, and once if it is refused", outcome, most, least)
		}
	}
}
