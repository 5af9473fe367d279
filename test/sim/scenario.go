package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Scenario is one run, all of which it says: run twice it gives the same transcript. Times are milliseconds since its begin.
type Scenario struct {
	Seed      uint64
	Reseed    uint64 // another run with the same faults
	Regions   int    // 2 to 4
	Agents    int    // the i-th is in region i modulo Regions
	Keys      int
	Resources int

	Skew       int64 // most by which a clock is off
	Quarantine int64
	Lease      int64 // the longest
	ThinkTime  int64 // between two wishes of an agent's users, on average
	Lag        int64 // of replication, on average
	Mode       string
	Buckets    int32

	Warm   int64 // when the faults begin
	Heal   int64 // when they end
	Faults []Fault
}

// FaultKind is what goes wrong.
type FaultKind uint8

// The faults.
const (
	CutRegion  FaultKind = iota // a region hears nobody and nobody hears it; its own agents go on
	StallShard                  // the bridge does not read one shard of the region's stream
	ReplayLog                   // the bridge reads what it read before once more
	LoseRecord                  // the stream loses records; at the end the bridge notices, and scans
	SlowCopies                  // replication from the region takes seconds
	KillExecutor
	Throttle // the table refuses most requests of the executor
	LoseNet  // answers and requests are lost, or late
	KillCore // the three cores end again and again, with what they have not committed
	KillAgents
	Evacuate   // the region is evacuated; that may last to the end
	Contention // users of all regions want the same keys at the same time
	Adopt      // the region is cut off, or without power if it is the home, and another adopts its resources
	Settings   // the pool's quarantine becomes longer, and its sub-partitions fewer
	faultKinds
)

//nolint:gochecknoglobals // a table: internal/lint complains about writes to it
var faultNames = [...]string{
	"cut", "stalled shard", "replay", "lost records", "slow copies", "executor killed", "throttling", "bad network", "cores killed", "agents killed",
	"evacuation", "quarrel", "adoption", "settings",
}

// String is the fault in a word or two.
func (k FaultKind) String() string { return faultNames[k] }

// Fault is a fault of a region for a time.
type Fault struct {
	Kind     FaultKind
	Region   int
	From, To int64
	Forever  bool // an evacuation that is not taken back
	Half     bool // an adoption while only copies are cut off: all reach the region's endpoint
}

// String is the fault for people.
func (f Fault) String() string {
	to, half := clock(f.To), ""
	if f.Half {
		half = ", whose endpoint all reach,"
	}
	if f.Forever {
		to = "the end"
	}
	return fmt.Sprintf("%v in %s%s from %s to %s", f.Kind, regionNames[f.Region], half, clock(f.From), to)
}

var regionNames = [...]string{"ap", "eu", "sa", "us"} //nolint:gochecknoglobals // a table: internal/lint complains about writes to it

// Draw is the scenario of a seed: a warm-up, one to three faults at a time with quiet between them, and then none.
func Draw(seed uint64) *Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &Scenario{
		Seed: seed, Regions: 2 + r.IntN(3), Keys: 2 + r.IntN(6), Resources: 5 + r.IntN(14), Skew: 50 + r.Int64N(450),
		Lease: 3000 + r.Int64N(7000), ThinkTime: 500 + r.Int64N(1000), Lag: 10 + r.Int64N(1+r.Int64N(500)),
		Mode: [...]string{"supersede", "supersede", "", "release"}[r.IntN(4)], Buckets: 1 + r.Int32N(4), Warm: 8000,
	}
	s.Agents = s.Regions + r.IntN(3)
	s.Quarantine = s.Skew + r.Int64N(3000)
	at := s.Warm
	for range 3 + r.IntN(5) {
		for range 1 + r.IntN(3) {
			from := at + r.Int64N(2000)
			f := Fault{Kind: FaultKind(r.IntN(int(faultKinds))), Region: r.IntN(s.Regions), From: from, To: from + 1000 + r.Int64N(7000)}
			f.Forever = f.Kind == Evacuate && r.IntN(3) == 0 && !slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Forever })
			if f.Kind == Adopt {
				f.Half = r.IntN(2) == 0 && f.Region > 0
				f.To += writeLeaseMs
			}
			s.Faults = append(s.Faults, f)
		}
		at += 4000 + r.Int64N(6000)
	}
	s.Heal = at + 4000
	return s
}

// String is the scenario for people.
func (s *Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d regions, %d agents, %d keys, %d resources; clocks off by up to %d ms, quarantine %d ms, leases up to %d ms, a wish each %d ms, replication %d ms, duplicates %q\n",
		s.Seed, s.Regions, s.Agents, s.Keys, s.Resources, s.Skew, s.Quarantine, s.Lease, s.ThinkTime, s.Lag, s.Mode)
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "  %v\n", f)
	}
	return b.String()
}

// has says whether there is a fault of a kind.
func (s *Scenario) has(k FaultKind) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == k })
}

// longest is the longest lease that the pool allows, until calm.
func (s *Scenario) longest() int64 { return s.Lease + 2*s.Skew }

// quarantine is that of the pool at the end.
func (s *Scenario) quarantine() int64 {
	if s.has(Settings) {
		return s.Quarantine + longer
	}
	return s.Quarantine
}

const longer = 2000 // by so much a fault of settings makes the quarantine longer

// The end of a scenario. Users wish nothing any more from calm on, but that some keys are leased until after the end. What
// was leased before is over and given back by ask, when all are asked once: that ends what was left half way. They are asked
// again at askAgain, and then must agree. What was leased by that is given back by the end.
func (s *Scenario) quietFrom() int64 { return s.Heal + 3000 }

func (s *Scenario) ask() int64 {
	return s.quietFrom() + 2000 + s.longest() + s.quarantine() + maxRetry + 4000
}
func (s *Scenario) askAgain() int64 { return s.ask() + 5000 }
func (s *Scenario) end() int64      { return s.askAgain() + 2000 + 4*s.Skew + s.quarantine() + 12_000 }

// clock is a time of a scenario for people, in seconds.
func clock(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }
