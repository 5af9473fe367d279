package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Scenario determines one run: two runs give the same transcript. Times are milliseconds since its
// start.
type Scenario struct {
	Seed      uint64
	Reseed    uint64 // other random numbers for the same faults
	Regions   int    // 2 to 4
	Agents    int    // the i-th is in region i modulo Regions
	Keys      int
	Resources int

	Skew       int64 // greatest error of a clock
	Quarantine int64
	Lease      int64 // longest lease
	ThinkTime  int64 // mean pause between two requests of an agent's users
	Lag        int64 // mean lag of replication
	Mode       string
	Buckets    int32

	Warm   int64 // start of the faults
	Heal   int64 // end of the faults
	Faults []Fault
}

// FaultKind is a kind of fault.
type FaultKind uint8

// The faults.
const (
	CutRegion  FaultKind = iota // no messages between the region and others; its own agents continue
	StallShard                  // the bridge does not read one shard of the region's stream
	ReplayLog                   // the bridge reads old records again
	LoseRecord                  // the stream loses records; at the end the bridge detects it and scans
	SlowCopies                  // replication from the region takes seconds
	KillExecutor
	Throttle // the table throttles most requests of the executor
	LoseNet  // requests and responses are lost or delayed
	KillCore // the three cores restart repeatedly and lose uncommitted work
	KillAgents
	Evacuate   // the region is evacuated, possibly until the end
	Contention // users of all regions request the same keys at the same time
	Adopt      // the region is cut off, or without power if it is the home region, and another region adopts its resources
	Settings   // the pool gets a longer quarantine and fewer buckets
	faultKinds
)

//nolint:gochecknoglobals // a table: internal/lint complains about writes to it
var faultNames = [...]string{
	"cut", "stalled shard", "replay", "lost records", "slow copies", "executor killed", "throttling", "bad network", "cores killed",
	"agents killed",
	"evacuation", "contention", "adoption", "settings",
}

// String returns the name of the fault.
func (k FaultKind) String() string { return faultNames[k] }

// Fault is a fault of a region for a time.
type Fault struct {
	Kind     FaultKind
	Region   int
	From, To int64
	Forever  bool // an evacuation that is not cancelled
	Half     bool // an adoption during which only replication is cut: all clients reach the region's endpoint
}

// String returns the fault as text.
func (f Fault) String() string {
	to, half := clock(f.To), ""
	if f.Half {
		half = " (endpoint reachable)"
	}
	if f.Forever {
		to = "the end"
	}
	return fmt.Sprintf("%v in %s%s from %s to %s", f.Kind, regionNames[f.Region], half, clock(f.From), to)
}

var regionNames = [...]string{"ap", "eu", "sa", "us"} //nolint:gochecknoglobals // a table: internal/lint complains about writes to it

// Draw returns the scenario of a seed: a warm-up, one to three faults at a time with quiet periods,
// and a time without faults.
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

// String returns the scenario as text.
func (s *Scenario) String() string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"seed %d: %d regions, %d agents, %d keys, %d resources; clock skew up to %d ms, quarantine %d ms, leases up to %d ms, a request each %d ms, replication lag %d ms, duplicates %q\n",
		s.Seed, s.Regions, s.Agents, s.Keys, s.Resources, s.Skew, s.Quarantine, s.Lease, s.ThinkTime, s.Lag, s.Mode)
	for _, f := range s.Faults {
		fmt.Fprintf(&b, "  %v\n", f)
	}
	return b.String()
}

// has reports whether the scenario has a fault of a kind.
func (s *Scenario) has(k FaultKind) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return f.Kind == k })
}

// longest returns the longest lease that the pool allows.
func (s *Scenario) longest() int64 { return s.Lease + 2*s.Skew }

// quarantine returns the quarantine of the pool at the end.
func (s *Scenario) quarantine() int64 {
	if s.has(Settings) {
		return s.Quarantine + longer
	}
	return s.Quarantine
}

const longer = 2000 // increase of the quarantine by a Settings fault

// The last phase of a scenario. From quietFrom on users make no requests, except that some keys are
// leased until after the end. By ask, all earlier leases have ended and are liberated; then every
// kept key is requested once, which completes interrupted operations. It is requested again at
// askAgain, when all answers have to agree. Leases of these requests are liberated by the end.
func (s *Scenario) quietFrom() int64 { return s.Heal + 3000 }

func (s *Scenario) ask() int64 {
	return s.quietFrom() + 2000 + s.longest() + s.quarantine() + maxRetry + 4000
}
func (s *Scenario) askAgain() int64 { return s.ask() + 5000 }
func (s *Scenario) end() int64      { return s.askAgain() + 2000 + 4*s.Skew + s.quarantine() + 12_000 }

// clock formats a time of a scenario in seconds.
func clock(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }
