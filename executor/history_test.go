package executor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// expected is a simple model of the executor: it returns the row after a command, and the outcome.
// It uses neither package command nor the rules of package lease. wild: the time at which the
// resource becomes available depends on the clock of the attempt.
func expected(c *eventspb.LeaseCommand, row lease.Row, asOf int64) (lease.Row, eventspb.LeaseOutcome, bool) {
	const (
		done, stale   = eventspb.LeaseOutcome_LEASE_OUTCOME_DONE, eventspb.LeaseOutcome_LEASE_OUTCOME_STALE
		early, late   = eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY, eventspb.LeaseOutcome_LEASE_OUTCOME_LATE
		missing, none = eventspb.LeaseOutcome_LEASE_OUTCOME_MISSING, eventspb.LeaseOutcome_LEASE_OUTCOME_INVALID
	)
	now := time.Now().UnixMilli()
	if c.Region != "eu" || c.Client == "" || c.Command == nil || c.GetTransfer() != nil && c.GetTransfer().Version == 0 {
		return row, none, false
	}
	if h := c.GetHeadroom(); h != nil {
		switch {
		case c.NotAfterMs > 0:
			return row, late, false
		case h.AsOfMs == asOf:
			return row, done, false
		case h.AsOfMs < asOf:
			return row, stale, false
		}
		return row, done, false
	}
	after, version, wild, early1, sense := row, int64(0), false, false, true
	after.Version++
	switch {
	case c.GetLiberate() != nil:
		l := c.GetLiberate()
		version = l.Version
		sense, early1 = row.Expires > 0, row.Expires >= now-500
		after.Holder, after.Expires, after.Available = "", 0, l.AvailableMs
	case c.GetTransfer() != nil:
		version = c.GetTransfer().Version
		sense, early1 = row.Available > 0, row.Available > now
		after.Owner, after.Available, wild = "us", -1, true
	case c.GetRevoke() != nil:
		version = c.GetRevoke().Version
		after.Holder, after.Expires, after.Available = "", 0, c.GetRevoke().AvailableMs
	case c.GetSupersede() != nil:
		version = c.GetSupersede().Version
		after.State, after.Winner = lease.Superseded, "us"
	}
	already := row.Version == version+1 && func() bool {
		switch {
		case c.GetLiberate() != nil, c.GetRevoke() != nil:
			return row.Holder == "" && row.Expires == 0 && row.Available == after.Available && row.Owner == "eu"
		case c.GetTransfer() != nil:
			return row.Owner == "us" && row.Available > 0
		default:
			return row.State == lease.Superseded && row.Winner == "us" && row.Resource == c.GetSupersede().Resource
		}
	}()
	if c.GetSupersede() == nil && row.Owner != "eu" {
		sense = false
	}
	switch {
	case already && (c.NotAfterMs == 0 || c.GetTransfer() != nil):
		return row, done, false
	case c.NotAfterMs > 0:
		return row, late, false
	case row.Version == 0:
		return row, missing, false
	case row.Version != version || !sense:
		return row, stale, false
	case early1:
		return row, early, false
	}
	return after, done, wild
}

// expectation is what the model expects of a command: its outcome and the row after it.
type expectation struct {
	row     lease.Row
	outcome eventspb.LeaseOutcome
	wild    bool // the row becomes available at the time of the attempt or later
}

func model(c *eventspb.LeaseCommand, row lease.Row, asOf int64) (x expectation) {
	x.row, x.outcome, x.wild = expected(c, row, asOf)
	return x
}

// differs compares the outcome of a command that was carried out by the time now, and the row after
// it in its bucket, with the model. It returns the difference, which may be empty.
func (x expectation) differs(outcome eventspb.LeaseOutcome, row lease.Row, bucket string, now int64) string {
	if outcome != x.outcome {
		return fmt.Sprintf("the outcome is %v, want %v", outcome, x.outcome)
	}
	if x.wild {
		if least := now + 3000 - 1500; row.Available < least {
			return fmt.Sprintf("available at %d, the minimum is %d", row.Available, least)
		}
		x.row.Available = row.Available
	}
	if row != x.row {
		return fmt.Sprintf("the row is %+v, want %+v", row, x.row)
	}
	if row.Available > 0 && outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE && !inBucket(bucket, row.Owner) {
		return fmt.Sprintf("a resource of %s is in the bucket %q", row.Owner, bucket)
	}
	return ""
}

// random returns a row that the protocol can produce.
func random(rng *rand.Rand, key bool) lease.Row {
	now := time.Now().UnixMilli()
	row := lease.Row{Version: 1 + int64(rng.IntN(3))}
	at := now + int64(rng.IntN(2))*100_000 - 50_000
	switch n := rng.IntN(6); {
	case n == 0:
		return lease.Row{}
	case key:
		row.State, row.Resource, row.ResourceVersion, row.Expires = []lease.State{lease.Pending, lease.Leased, lease.Superseded}[rng.IntN(3)], "r1", 3, at
		if row.State == lease.Superseded {
			row.Winner = "us"
		}
	case n < 3:
		row.Owner, row.Holder, row.Expires = "eu", lease.Holder("p", "k0"), at
	case n < 5:
		row.Owner, row.Available = "eu", at
	default:
		row.Owner = "eu" // retired
	}
	return row
}

// TestHistories sends random commands for random rows, with faults of every kind, repeated commands
// and writes of other processes between. The rows and outcomes must be those of the model.
func TestHistories(t *testing.T) {
	seen := map[eventspb.LeaseOutcome]int{}
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newFixture(t, hostile())
			e := w.executor()
			m := &commander{rng: rand.New(rand.NewPCG(seed, 5))}
			rows := map[lease.PrimaryKey]lease.Row{}
			asOf := int64(0)
			get := func(p lease.PrimaryKey) lease.Row { return rows[p] }
			var past []*eventspb.LeaseCommand
			for range 250 {
				if m.rng.IntN(3) == 0 { // another process writes
					key := m.rng.IntN(3) == 0
					p := lease.ResourceRow("c", m.resource())
					if key {
						p = lease.PrimaryKey{Partition: lease.KeyPartition("c", "p", fmt.Sprintf("k%d", m.rng.IntN(4))), Sort: "eu"}
					}
					row := random(m.rng, key)
					if row.Version > 0 {
						row.Version += rows[p].Version
					}
					w.settle()
					w.set(p, row)
					w.settle(hostile().Faults...)
					rows[p] = row
				}
				c := m.command(get)
				if len(past) > 0 && m.rng.IntN(3) == 0 {
					c = past[m.rng.IntN(len(past))]
				}
				past = append(past, c)
				p := target(c)
				want := model(c, rows[p], asOf)
				got := w.do(e, c)
				seen[got.Outcome]++
				if c.GetHeadroom() != nil {
					if wrong := want.differs(got.Outcome, rows[p], "", 0); wrong != "" {
						t.Fatalf("%v: %s (%s)", c, wrong, got.Detail)
					}
					if got.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE {
						asOf = max(asOf, c.GetHeadroom().AsOfMs)
					}
					w.checkHeadroom(t, c, asOf, got.Outcome)
					continue
				}
				row := w.row(p)
				if wrong := want.differs(got.Outcome, row, table.Text(w.item(p), table.Bucket), time.Now().UnixMilli()); wrong != "" {
					t.Fatalf("%v\non %+v: %s (%s)", c, rows[p], wrong, got.Detail)
				}
				rows[p] = row
			}
		})
	}
	t.Log(seen)
	for o := range eventspb.LeaseOutcome_name {
		if o > 0 && seen[eventspb.LeaseOutcome(o)] == 0 {
			t.Errorf("no command was %v", eventspb.LeaseOutcome(o))
		}
	}
}

func inBucket(shard, region string) bool {
	for n := range 4 {
		if shard == lease.Bucket("c", "p", region, n) {
			return true
		}
	}
	return false
}

func (w *fixture) checkHeadroom(t *testing.T, c *eventspb.LeaseCommand, asOf int64, outcome eventspb.LeaseOutcome) {
	t.Helper()
	if asOf == 0 {
		return
	}
	h, err := table.HeadroomOf(w.item(lease.HeadroomRow("c", "p", "eu")))
	if err != nil || h.AsOfMs != asOf {
		t.Fatalf("%v: %v; the row is %v (%v), want the time %d", c, outcome, h, err, asOf)
	}
}

// target returns the row that a command writes.
func target(c *eventspb.LeaseCommand) lease.PrimaryKey {
	for _, r := range []string{c.GetLiberate().GetResource(), c.GetTransfer().GetResource(), c.GetRevoke().GetResource()} {
		if r != "" {
			return lease.ResourceRow("c", r)
		}
	}
	return lease.PrimaryKey{Partition: lease.KeyPartition("c", "p", c.GetSupersede().GetKey()), Sort: "eu"}
}

// TestRegionDown holds that commands wait while the region does not answer, and are done
// afterwards.
func TestRegionDown(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{})
	p := lease.ResourceRow("c", "r")
	w.set(p, lease.Row{Version: 3, Owner: "eu", Available: 5})
	e := w.executor()
	w.settle(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1, Region: "eu"})
	r := record(t, &eventspb.LeaseCommand{Id: "x", Client: "c", Pool: "p", Region: "eu", Command: &eventspb.LeaseCommand_Transfer{
		Transfer: &eventspb.LeaseTransfer{Resource: "r", Version: 3, To: "us", Buckets: 4},
	}})
	for range 5 {
		if err := e.Do(context.Background(), r); reason(err) != "unavailable" {
			t.Fatalf("a region that is down: %v", err)
		}
	}
	if len(w.results) != 0 {
		t.Fatalf("it said %v", w.results)
	}
	w.settle()
	if err := e.Do(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if row := w.row(p); w.results[0].Outcome != eventspb.LeaseOutcome_LEASE_OUTCOME_DONE || row.Owner != "us" || row.Version != 4 {
		t.Errorf("%v made it %+v", w.results[0], row)
	}
}

// TestSlowRegion holds that all commands wait for one read of the write lease, and that a command
// whose context ends returns at once.
func TestSlowRegion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{})
		e := w.executor()
		w.settle(dynamotest.Fault{Kind: dynamotest.Slow, Rate: 1, Region: "eu", Operation: "Query", Delay: dynamotest.Span{Min: 300 * time.Millisecond, Max: 300 * time.Millisecond}})
		begun := time.Now()
		impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		callers := []context.Context{t.Context(), t.Context(), t.Context(), t.Context(), impatient}
		var all sync.WaitGroup
		took := make([]time.Duration, len(callers))
		for i := range took {
			c := &eventspb.LeaseCommand{Id: fmt.Sprint(i), Client: "c", Pool: "p", Region: "eu", Command: &eventspb.LeaseCommand_Transfer{
				Transfer: &eventspb.LeaseTransfer{Resource: "r", Version: 3, To: "us", Buckets: 4},
			}}
			all.Go(func() {
				if i == 4 {
					<-time.After(50 * time.Millisecond) // the read is under way
				}
				if err := e.Do(callers[i], record(t, c)); (err != nil) != (i == 4) {
					t.Errorf("command %d: %v", i, err)
				}
				took[i] = time.Since(begun)
			})
		}
		all.Wait()
		if took[0] != 300*time.Millisecond || slices.Max(took[:4]) != slices.Min(took[:4]) || took[4] != 100*time.Millisecond {
			t.Errorf("the commands waited %v for a request of 300 ms", took)
		}
	})
}

// TestClock holds that a wrong clock stops all writes.
func TestClock(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{})
	p := lease.ResourceRow("c", "r")
	w.set(p, lease.Row{Version: 3, Owner: "eu", Available: 5})
	e := w.executor()
	e.cfg.Table.Skew = -10 * time.Second // no clock passes the check
	r := record(t, &eventspb.LeaseCommand{Id: "x", Client: "c", Pool: "p", Region: "eu", Command: &eventspb.LeaseCommand_Transfer{
		Transfer: &eventspb.LeaseTransfer{Resource: "r", Version: 3, To: "us", Buckets: 4},
	}})
	for range 3 {
		if err := e.Do(context.Background(), r); reason(err) != "clock" {
			t.Fatalf("a wrong clock: %v", err)
		}
	}
	if row := w.row(p); row.Version != 3 {
		t.Errorf("the row was written: %+v", row)
	}
	e.cfg.Table.Skew = time.Second
	if err := e.Do(context.Background(), r); err != nil || w.row(p).Version != 4 {
		t.Errorf("a right clock: %v", err)
	}
}

// TestWriteLease holds that nothing is written through a region without a current write lease, or
// that was adopted.
func TestWriteLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{})
		p := lease.ResourceRow("c", "r")
		w.set(p, lease.Row{Version: 3, Owner: "eu", Available: 5})
		region := func(r table.Region) {
			item := r.Item()
			for name, v := range table.PrimaryKey(lease.RegionRow("eu")) {
				item[name] = v
			}
			item[table.Version] = table.N(2)
			w.put(item)
		}
		renew := func(d time.Duration) {
			item := table.PrimaryKey(lease.WriteLeaseRow("eu", "us"))
			item[table.WriteLeaseUntilMs] = table.N(time.Now().Add(d).UnixMilli())
			w.put(item)
		}
		version := int64(3)
		e := w.executor()
		for _, c := range []struct {
			name string
			set  func()
			ok   bool
		}{
			{"no grantor has renewed it", func() { region(table.Region{State: "active", WriteLease: time.Minute}) }, false},
			{"it is renewed", func() { renew(time.Minute) }, true},
			{"long enough for a request", func() { renew(maxWriteLeaseAge + 1600*time.Millisecond) }, true},
			{"not long enough for a request", func() { renew(maxWriteLeaseAge + 1400*time.Millisecond) }, false},
			{"without a write lease", func() { region(table.Region{State: "active"}) }, true},
			{"adopted", func() { region(table.Region{State: "adopted", AdoptedBy: "us"}) }, false},
		} {
			c.set()
			<-time.After(maxWriteLeaseAge)
			r := record(t, &eventspb.LeaseCommand{Id: c.name, Client: "c", Pool: "p", Region: "eu", Command: &eventspb.LeaseCommand_Transfer{
				Transfer: &eventspb.LeaseTransfer{Resource: "r", Version: version, To: "us", Buckets: 4},
			}})
			err := e.Do(t.Context(), r)
			if c.ok {
				version++
			}
			stale := err == nil && w.results[len(w.results)-1].Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_STALE
			if row := w.row(p); stale != (c.name == "adopted") || !stale && ((err == nil) != c.ok || !c.ok && reason(err) != "write_lease") || row.Version != version {
				t.Errorf("%s: %v, the row is %+v, want version %d", c.name, err, row, version)
			}
			if c.ok {
				version++
				w.set(p, lease.Row{Version: version, Owner: "eu", Available: 5})
			}
		}
	})
}

// TestConfig holds that New rejects configurations that would make the protocol unsafe.
func TestConfig(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{})
	for name, change := range map[string]func(*Config){
		"region":     func(c *Config) { c.Region = "" },
		"regions":    func(c *Config) { c.Regions = []string{"us"} },
		"attempts":   func(c *Config) { c.Table.Attempts = 3 },
		"wait":       func(c *Config) { c.TransferWait = 2 * time.Second },
		"no table":   func(c *Config) { c.Table = nil },
		"partitions": func(c *Config) { c.Partitions = -1 },
	} {
		cfg := Config{Region: "eu", Regions: []string{"eu", "us"}, Table: w.table(), Kafka: noKafka()}
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
