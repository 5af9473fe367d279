package spendsim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// names are the datacentres in the order of the ring.
var names = [...]string{"eu", "us", "ap", "sa"} //nolint:gochecknoglobals // a table: internal/lint complains about writes to it

// Times of a scenario, in ms since its start.
const (
	stepMs  = 200
	beginMs = 3000    // start of the clicks: there are health rows
	warmMs  = 70_000  // start of the faults: the windows of 60 s are full
	healMs  = 190_000 // end of the faults
	endMs   = 270_000 // readers have returned
)

// Scenario determines a run.
type Scenario struct {
	Seed   uint64
	DCs    int     // 2 to 4
	Rate   float64 // clicks per second, datacentre and campaign
	Budget int     // clicks
	Skew   [len(names)]int64
	Cross  bool // some clicks arrive in another datacentre than the one that served the ad
	Faults []Fault
}

// FaultKind is a kind of fault.
type FaultKind uint8

// The faults.
const (
	KillCounter FaultKind = iota // the counter restarts repeatedly, and loses what is not committed
	StopCounter                  // the counter does nothing
	SlowCounter                  // the counter applies fewer records than arrive
	WipeCounter                  // the state is deleted, and the counter begins again
	StopMirror                   // no events and heartbeats are copied to the datacentre
	AbortMirror                  // most transactions of the mirror abort
	LoseCopies                   // records are not copied to the datacentre, and never will be
	StopPush                     // the datacentre writes its dataset to no other one
	SlowPush                     // it is written some seconds late
	CutLink                      // no connections to the next datacentre
	StopKafka                    // the datacentre's brokers do not answer
	StopReader                   // the cache restarts repeatedly
	faultKinds
)

//nolint:gochecknoglobals // a table: internal/lint complains about writes to it
var faultNames = [...]string{
	"counter killed", "counter stopped", "counter slow", "counter wiped", "mirror stopped", "mirror's transactions aborted",
	"copies lost", "push stopped", "push slow", "link to the next cut", "Kafka stopped", "reader killed",
}

// String returns the name of the fault.
func (k FaultKind) String() string { return faultNames[k] }

// Fault is a fault of a datacentre for a time.
type Fault struct {
	Kind     FaultKind
	DC       int
	From, To int64
}

// String returns the fault as text.
func (f Fault) String() string {
	return fmt.Sprintf("%v in %s from %d s to %d s", f.Kind, names[f.DC], f.From/1000, f.To/1000)
}

// String returns the scenario as text.
func (s *Scenario) String() string {
	lines := []string{fmt.Sprintf("seed %d: %d datacentres, %.1f clicks/s, budget of %d clicks, clocks off by %v ms, cross-routing %v",
		s.Seed, s.DCs, s.Rate, s.Budget, s.Skew[:s.DCs], s.Cross)}
	for _, f := range s.Faults {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

// Draw returns the scenario of a seed: one to three faults, alone or at the same time.
func Draw(seed uint64) *Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &Scenario{Seed: seed, DCs: 2 + r.IntN(3), Rate: 2 + 3*r.Float64(), Cross: r.IntN(2) == 0}
	for i := range s.DCs {
		s.Skew[i] = r.Int64N(3000) - 1500
	}
	if r.IntN(8) == 0 { // one clock is an hour ahead or behind
		s.Skew[r.IntN(s.DCs)] = (1 - 2*r.Int64N(2)) * 3_600_000
		s.Cross = false // a duplicate of the other clock would be an event of another time
	}
	for range 1 + r.IntN(3) {
		from := warmMs + r.Int64N(healMs-warmMs-20_000)
		f := Fault{FaultKind(r.IntN(int(faultKinds))), r.IntN(s.DCs), from, min(healMs, from+5000+r.Int64N(90_000))}
		if f.Kind == StopKafka { // later events would be late, and not checked for duplicates
			f.To = min(f.To, f.From+35_000)
		}
		s.Faults = append(s.Faults, f)
	}
	slices.SortFunc(s.Faults, func(a, b Fault) int { return int(a.From - b.From) })
	// The budget ends during the faults or after them.
	ends := float64(warmMs+r.Int64N(endMs-warmMs-30_000)) / 1000
	s.Budget = int(ends * s.Rate * float64(s.DCs))
	return s
}
