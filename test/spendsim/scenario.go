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
	stepMs   = 200
	beginMs  = 3000    // start of the clicks: there are health rows
	warmMs   = 70_000  // start of the faults: the windows of 60 s are full
	healMs   = 190_000 // end of the faults
	servedMs = 225_000 // end of the clicks of campaigns with a budget: they come in bursts
	quietMs  = 260_000 // end of all clicks
	endMs    = 270_000 // readers have returned
)

// Scenario determines a run.
type Scenario struct {
	Seed   uint64
	DCs    int     // 2 to 4
	Rate   float64 // clicks per second, datacentre and campaign
	Budget int     // clicks
	Skew   [len(names)]int64
	Cross  bool  // some clicks arrive in another datacentre than the one that served the ad
	JoinAt int64 // when the last datacentre is added; 0: it is there from the start
	Faults []Fault
}

// String returns the scenario as text.
func (s *Scenario) String() string {
	lines := []string{fmt.Sprintf("seed %d: %d datacentres, %.1f clicks/s, budget of %d clicks, clocks off by %v ms, cross-routing %v",
		s.Seed, s.DCs, s.Rate, s.Budget, s.Skew[:s.DCs], s.Cross)}
	if s.JoinAt > 0 {
		lines = append(lines, fmt.Sprintf("  %s is added at %.1f s", names[s.DCs-1], float64(s.JoinAt)/1000))
	}
	for _, f := range s.Faults {
		lines = append(lines, "  "+f.String())
	}
	return strings.Join(lines, "\n")
}

// Draw returns the scenario of a seed: one to three faults. In half of the scenarios each is within
// the time of the one before.
func Draw(seed uint64) *Scenario {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &Scenario{Seed: seed, DCs: 2 + r.IntN(3), Rate: 2 + 3*r.Float64(), Cross: r.IntN(2) == 0}
	for i := range s.DCs {
		s.Skew[i] = r.Int64N(3000) - 1500
	}
	hour := r.IntN(8) == 0
	if hour { // one clock is an hour ahead or behind
		s.Skew[r.IntN(s.DCs)] = (1 - 2*r.Int64N(2)) * 3_600_000
		s.Cross = false // an event of the other clock would be refused, as one of the future, or late
	}
	nested := r.IntN(2) == 0
	for i := range 1 + r.IntN(3) {
		f := Fault{Kind: FaultKind(r.IntN(int(faultKinds))), DC: r.IntN(s.DCs)}
		f.Peer = (f.DC + 1 + r.IntN(s.DCs-1)) % s.DCs
		longest := int64(95_000)
		if f.Kind == StopKafka {
			longest = 120_000
		}
		from, to := int64(warmMs), int64(healMs)
		if nested && i > 0 {
			from, to = s.Faults[i-1].From, s.Faults[i-1].To
		}
		f.From = from + r.Int64N(max(1, to-from-5000))
		f.To = min(to, f.From+5000+r.Int64N(longest-5000))
		s.Faults = append(s.Faults, f)
	}
	if r.IntN(12) == 0 {
		s.stopCounters(r)
	}
	slices.SortStableFunc(s.Faults, func(a, b Fault) int { return int(a.From - b.From) })
	if s.DCs == 3 && !hour && r.IntN(3) == 0 { // events of a datacentre that is an hour behind would be late
		s.JoinAt = warmMs + 10_000 + r.Int64N(250)*stepMs
	}
	s.endBudget(warmMs + r.Int64N(healMs-warmMs))
	return s
}

// endBudget sets the budget to the clicks up to a time, if they are as many as expected. It is
// during the faults, so that the overspend is seen to its end.
func (s *Scenario) endBudget(at int64) {
	served := float64(at-beginMs) * float64(s.DCs)
	if s.JoinAt > 0 {
		served -= float64(min(at, s.JoinAt) - beginMs)
	}
	s.Budget = int(served / 1000 * s.Rate)
}

// stopCounters stops the counters of all datacentres at about the same time.
func (s *Scenario) stopCounters(r *rand.Rand) {
	from, to := warmMs+r.Int64N(20_000), healMs-3000-r.Int64N(40_000)
	for dc := range s.DCs {
		s.Faults = append(s.Faults, Fault{Kind: StopCounter, DC: dc, From: from + r.Int64N(3000), To: to + r.Int64N(3000)})
	}
}
