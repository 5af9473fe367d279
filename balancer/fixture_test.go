package balancer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// fixture is a table of resources with agents that lease, a liberator and executors, as in the
// lease protocol.
type fixture struct {
	*harness
	rng    *rand.Rand
	rows   map[string]*eventspb.LeaseResource
	names  []string
	wait   []*eventspb.LeaseCommand // waiting commands
	past   []*eventspb.LeaseChange  // all changes
	moved  map[string]int
	failed int // refused commands
	pace   int // about how many commands are carried out in a step
}

func newFixture(t testing.TB, seed uint64) *fixture {
	return &fixture{
		harness: newHarness(t, Config{Regions: regions3}), rng: rand.New(rand.NewPCG(seed, 7)), rows: map[string]*eventspb.LeaseResource{},
		moved: map[string]int{}, pace: 50,
	}
}

// write writes a new version of a row and folds its change.
func (w *fixture) write(m *eventspb.LeaseResource) {
	m.Version++
	c := w.change("p", m)
	w.past = append(w.past, c)
	if bad := w.fold(c); len(bad) > 0 {
		w.t.Fatal(bad)
	}
}

// stock adds n resources to a region.
func (w *fixture) stock(region string, n int) {
	for range n {
		name := fmt.Sprintf("res-%04d", len(w.names))
		w.names = append(w.names, name)
		w.rows[name] = &eventspb.LeaseResource{Resource: name, Owner: region, AvailableMs: w.nowMs}
		w.write(w.rows[name])
	}
}

// take leases up to n resources in a region for a time, and returns how many were refused.
func (w *fixture) take(region string, n int, ms int64) (refused int) {
	for _, name := range w.names {
		if m := w.rows[name]; n > 0 && m.Owner == region && m.AvailableMs > 0 && m.AvailableMs <= w.nowMs {
			m.Holder, m.ExpiresMs, m.AvailableMs = fmt.Sprintf("p#%d", w.rng.Int()), w.nowMs+ms, 0
			w.write(m)
			n--
		}
	}
	return n
}

// live does one step of the table: leases end, some are renewed, and some commands are carried out.
func (w *fixture) live() {
	for _, name := range w.names {
		if m := w.rows[name]; m.Holder != "" && m.ExpiresMs < w.nowMs {
			m.AvailableMs, m.Holder, m.ExpiresMs = m.ExpiresMs+1000, "", 0
			w.write(m)
		} else if m.Holder != "" && w.rng.IntN(50) == 0 {
			m.ExpiresMs += 30_000
			w.write(m)
		}
	}
	list, _, _ := w.commands()
	w.wait = append(w.wait, list...)
	for len(w.wait) > 0 && w.rng.IntN(w.pace) > 0 {
		w.execute(w.wait[0])
		w.wait = w.wait[1:]
	}
}

func (w *fixture) execute(c *eventspb.LeaseCommand) {
	x := c.GetTransfer()
	m := w.rows[x.Resource]
	res := &eventspb.LeaseResult{
		Id: c.Id, Client: c.Client, Pool: c.Pool, Region: c.Region, By: c.By, Kind: "transfer", Resource: x.Resource, DoneMs: w.nowMs,
	}
	switch {
	case c.NotAfterMs < w.nowMs:
		res.Outcome = eventspb.LeaseOutcome_LEASE_OUTCOME_LATE
	case m.Version != x.Version || m.Owner != c.Region:
		res.Outcome = eventspb.LeaseOutcome_LEASE_OUTCOME_STALE
	case m.AvailableMs == 0 || m.AvailableMs > w.nowMs:
		res.Outcome = eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY
	default:
		res.Outcome = eventspb.LeaseOutcome_LEASE_OUTCOME_DONE
		m.Owner, m.AvailableMs = x.To, w.nowMs+3000
		w.write(m)
		w.moved[c.Region+">"+x.To]++
	}
	if res.Version = m.Version; res.Outcome != eventspb.LeaseOutcome_LEASE_OUTCOME_DONE {
		w.failed++
	}
	v, err := proto.Marshal(res)
	if err != nil {
		w.t.Fatal(err)
	}
	w.foldValues("lease.results", v)
}

// TestFollowNeedsEachTable: a standby that does not get the rows of one table is found to differ.
func TestFollowNeedsEachTable(t *testing.T) {
	for _, table := range []byte{0, TableResources, TablePools, TablePoolRegions, TableTransfers, TableRegions, TableTask} {
		w := newFixture(t, 1)
		w.pace, w.lost = 4, table
		w.stock("eu", 40)
		w.stock("us", 120)
		w.commit()
		found := false
		for step := 0; step < 60 && !found; step++ {
			w.setting(int64(1_000+step), false)
			w.heartbeats()
			w.take(regions3[w.rng.IntN(3)], w.rng.IntN(12), 5_000)
			w.live()
			w.pass(1500)
			found = w.same() != nil
		}
		if found != (table != 0) {
			t.Errorf("without the rows of table %d: found to differ: %t", table, found)
		}
	}
}

// Agents, a liberator and executors run, with replays, crashes and aborted transactions. The counts
// are always what a recount gives, a balancer that begins from the state is the same, and at the
// end the known rows are those of the table.
func TestCountsAreARecount(t *testing.T) {
	failed := 0
	for seed := range uint64(30) {
		w := newFixture(t, seed)
		w.pace = 4
		w.stock("eu", 40)
		w.stock("us", 120)
		w.commit()
		crashes := 0
		for step := range 150 {
			w.heartbeats()
			w.take(regions3[w.rng.IntN(3)], w.rng.IntN(12), 5_000+w.rng.Int64N(60_000))
			if w.rng.IntN(5) == 0 { // changes are repeated, by a scan or a replay
				c := proto.CloneOf(w.past[w.rng.IntN(len(w.past))])
				c.Scanned = w.rng.IntN(2) == 0
				w.fold(c)
			}
			w.live()
			if err := w.audit(); err != nil {
				t.Fatalf("seed %d, step %d: %v", seed, step, err)
			}
			w.pass(500 + w.rng.Int64N(2500))
			switch w.rng.IntN(12) {
			case 0:
				if err := w.same(); err != nil {
					t.Fatalf("seed %d, step %d: %v", seed, step, err)
				}
			case 1: // a transaction is aborted, and its records are repeated
				at := len(w.past)
				w.take("eu", 5, 20_000)
				w.crash()
				w.fold(w.past[at:]...)
				crashes++
			}
		}
		w.commit()
		for name, m := range w.rows {
			want := rowOf(m, false)
			if got := w.harness.rows()[joinNames("c", "p", name)]; got != want {
				t.Fatalf("seed %d: %s is known as %+v, the table has %+v", seed, name, got, want)
			}
		}
		for range 40 { // no new leases
			w.nowMs += 3000
			w.live()
			w.commit()
		}
		for name, f := range w.b.order[0].transfers {
			t.Errorf("seed %d: %s is still in transit: %+v", seed, name, f)
		}
		if failed += w.failed; len(w.moved) == 0 || crashes == 0 {
			t.Errorf("seed %d: moved %v, %d crashes: the test covers too little", seed, w.moved, crashes)
		}
	}
	if failed == 0 {
		t.Error("no transfer failed in any of them: the test covers too little")
	}
}

// The audit finds each of these bugs.
func TestAuditCatches(t *testing.T) {
	for name, mutate := range map[string]func(w *fixture){
		"a resource counted twice":                 func(w *fixture) { w.b.order[0].regions[1].free++ },
		"a lease counted in no bin":                func(w *fixture) { w.b.order[0].regions[0].leases++ },
		"a lease that was not removed":             func(w *fixture) { w.b.order[0].regions[0].leased.add(3, 1); w.b.order[0].regions[0].leases++ },
		"a retired resource that is not counted":   func(w *fixture) { w.b.order[0].regions[2].other-- },
		"a transfer that never ends":               func(w *fixture) { w.b.order[0].regions[1].outbound++ },
		"a transfer that ends twice":               func(w *fixture) { w.b.order[0].regions[0].inTransit-- },
		"a transfer that is not counted":           func(w *fixture) { w.b.stats.Arrived++ },
		"an exclusion that stays":                  func(w *fixture) { w.b.order[0].regions[1].excluded++ },
		"an available resource that is not listed": func(w *fixture) { drop(w, TableFree) },
		"a row that is lost":                       func(w *fixture) { drop(w, TableResources) },
		"an old version that is listed": func(w *fixture) {
			for k := range w.store {
				if k[0] == TableFree {
					w.store[k] = []byte{99}
					return
				}
			}
		},
	} {
		w := newFixture(t, 1)
		w.stock("eu", 4)
		w.stock("us", 40)
		w.take("eu", 2, 20_000)
		for range 3 {
			w.pass(2000)
		}
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
		if mutate(w); w.audit() == nil {
			t.Errorf("%s: the audit does not find it", name)
		}
	}
}

func drop(w *fixture, table byte) {
	for k := range w.store {
		if k[0] == table {
			delete(w.store, k)
			return
		}
	}
}

// A region without free resources gets some within seconds, and they arrive.
func TestRegionThatRunsDry(t *testing.T) {
	w := newFixture(t, 3)
	w.stock("eu", 30)
	w.stock("us", 2000)
	w.commit()
	first, dry := int64(0), w.nowMs
	for range 60 {
		w.heartbeats()
		if refused := w.take("eu", 5, 600_000); refused > 0 {
			w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Demand{
				Demand: &eventspb.LeaseDemand{Region: "eu", Refused: int64(refused)},
			}})
		}
		w.live()
		if first == 0 && w.moved["us>eu"] > 0 {
			first = w.nowMs
		}
		w.pass(1000)
	}
	if first == 0 || first-dry > 7000 {
		t.Errorf("the first resource arrived after %d ms", first-dry)
	}
	if w.moved["us>eu"] < 300 || w.moved["eu>us"] > 0 || w.moved["us>ap"] > 0 {
		t.Errorf("moved %v", w.moved)
	}
}

// Nothing moves while the log is read from its beginning, nor to or from a region without fresh
// heartbeats.
func TestNothingMovesOnStaleCounts(t *testing.T) {
	w := newFixture(t, 4)
	w.stock("eu", 3)
	w.stock("us", 500)
	w.commit()
	for i := range 40 {
		w.take("eu", 1, 600_000)
		if i == 20 {
			w.heartbeats() // the last ones
			w.nowMs += 30_000
		}
		w.pass(2000)
	}
	list, notes, headroom := w.commands()
	if len(list) > 0 || len(notes) > 0 {
		t.Errorf("without heartbeats %d commands: %v", len(list), notes)
	}
	if len(headroom) == 0 || headroom[len(headroom)-1].State != plan.StateSilent {
		t.Errorf("the headroom has no reason: %v", headroom)
	}
}

// A command that is not carried out is repeated after its timeout, and not before.
func TestLostCommandIsRepeated(t *testing.T) {
	w := newFixture(t, 5)
	w.stock("us", 500)
	w.commit()
	times := map[string][]int64{}
	for range 70 {
		w.heartbeats()
		w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Demand{
			Demand: &eventspb.LeaseDemand{Region: "eu", Refused: (w.nowMs - start) / 100},
		}})
		w.pass(2000)
		list, _, _ := w.commands()
		for _, c := range list {
			times[c.GetTransfer().Resource] = append(times[c.GetTransfer().Resource], w.nowMs)
		}
	}
	again := 0
	for name, at := range times {
		for i := 1; i < len(at); i++ {
			again++
			if at[i]-at[i-1] < 70_000 {
				t.Errorf("%s was commanded again after %d ms", name, at[i]-at[i-1])
			}
		}
	}
	if again == 0 {
		t.Errorf("no command was repeated: %d resources were commanded", len(times))
	}
}

func TestEvacuatedRegionIsEmptied(t *testing.T) {
	w := newFixture(t, 6)
	w.stock("eu", 300)
	w.stock("us", 20)
	w.fold(&eventspb.LeaseChange{Region: "eu", AtMs: w.nowMs, Row: &eventspb.LeaseChange_RegionRow{
		RegionRow: &eventspb.LeaseRegion{Region: "eu", Version: 1, State: plan.StateEvacuating},
	}})
	w.commit()
	for range 40 {
		w.heartbeats()
		w.live()
		w.pass(2000)
	}
	if n := w.moved["eu>us"] + w.moved["eu>ap"]; n != 300 || w.moved["eu>us"] == 0 || w.moved["eu>ap"] == 0 {
		t.Errorf("moved %v, want all 300, to both", w.moved)
	}
}

// The explanation of a move is in the journal, and headroom is in the topic and in the table.
func TestPublishedHeadroom(t *testing.T) {
	w := newFixture(t, 8)
	w.stock("us", 500)
	w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Settings{
		Settings: &eventspb.LeasePool{Version: 1, Buckets: 10, Floors: map[string]int64{"ap": 100_000, "us": 200}},
	}})
	var notes []*eventspb.LeaseJournalEntry
	moved, written := 0, int64(0)
	for i := range 60 {
		w.heartbeats()
		w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Demand{
			Demand: &eventspb.LeaseDemand{Region: "eu", Refused: int64(20 * i)},
		}})
		w.pass(1000)
		for _, c := range w.out {
			if c.Output() == events.LeaseCommandsTopic(w.cfg.Regions[0]) {
				m := &eventspb.LeaseCommand{}
				if err := proto.Unmarshal(c.Value, m); err != nil {
					t.Fatal(err)
				}
				if m.GetHeadroom() != nil {
					if w.nowMs-written < 5000 {
						t.Errorf("a row of the table is written again after %d ms", w.nowMs-written)
					}
					written = w.nowMs
				}
			}
		}
		list, n, _ := w.commands()
		notes = append(notes, n...)
		for _, c := range list {
			moved++
			if x := c.GetTransfer(); c.Region != "us" || x.To != "eu" || x.Version != 1 || x.Buckets != 10 || c.NotAfterMs != c.DecidedMs+60_000 || c.Why == "" {
				t.Fatalf("command %v", c)
			}
		}
	}
	if w.nowMs-written > 10_000 {
		t.Errorf("the table's row is %d ms old", w.nowMs-written)
	}
	if moved != 300 {
		t.Errorf("%d were commanded, the floor leaves 300", moved)
	}
	refused, journalled := 0, int64(0)
	for _, n := range notes {
		if n.Kind == "refused" {
			refused++
			if !strings.Contains(n.Text, "the floor of 100000 in ap is above the 500 resources") {
				t.Errorf("note %q", n.Text)
			}
			continue
		}
		journalled += n.Count
	}
	if refused != 1 || journalled != 300 {
		t.Errorf("%d entries about the floor, %d moved resources in the journal: %v", refused, journalled, notes)
	}
}
