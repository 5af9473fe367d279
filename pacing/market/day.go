package market

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/inflight"
)

// Run is a day of a market with one controller.
type Run struct {
	Controller control.Controller
	Seconds    int // between two steps of the controller. Defaults to 10
	Knows      Knowledge
	Scenario   Scenario
}

// Knowledge is what the pacers know of the ads that were shown.
type Knowledge int

// What pacers may know.
const (
	Shown   Knowledge = iota // the expected cost of those of each tick
	Charges                  // nothing: what was charged stands for their cost
	Reports                  // their expected cost, by which they estimate what is in flight
	Flight                   // what is in flight, too
)

// state is a campaign during a day. Money is in micros.
type state struct {
	pace   control.Pace
	params control.Params
	budget float64

	charged float64 // in truth
	known   float64 // of charged
	flight  float64 // expected cost of the ads that were shown and not charged
	cost    float64 // of the ads since the last tick
	value   float64 // of the ads that were bought
	shown   float64 // expected cost of the ads since the pacers have seen the campaign
	reports inflight.Estimate

	seen    seen
	seenAt  int // step of seen
	slots   [slotsPerDay]float64
	done    int // step at which 95 % of the budget were spent
	moved   float64
	changes int // steps of the controller
}

// seen is what the pacer knows.
type seen struct{ known, flight, cost float64 }

// charge is a charge that becomes due, or known, at a step.
type charge struct {
	campaign int
	micros   float64
}

// day runs a day.
type day struct {
	*Market
	Run
	pcg       *rand.PCG
	rng       *rand.Rand // of pcg
	isBlind   bool       // the pacers see nothing in this step
	pacer     *control.Pacer
	plan      []float64
	states    []state
	due       [][]charge // by step
	reported  [][]charge // by step
	unlimited bool
}

const maxLag = daySeconds / stepSeconds

func newDay(w *Market, r Run) *day {
	if r.Controller == nil {
		r.Controller = control.ASAP{}
	}
	if r.Seconds == 0 {
		r.Seconds = perTick * stepSeconds
	}
	if r.Scenario.lag == nil {
		r.Scenario.lag = ordinaryLag
	}
	pcg := rand.NewPCG(w.seed, 99)
	d := &day{
		Market: w, Run: r, pcg: pcg, rng: rand.New(pcg), plan: plans(),
		pacer: control.NewPacer(control.Config{Controller: r.Controller, KeepStale: true}), states: make([]state, len(w.campaigns)),
		due: make([][]charge, steps), reported: make([][]charge, steps+maxLag),
	}
	for i := range d.states {
		d.states[i].budget, d.states[i].done = w.campaigns[i].budget, steps
		d.states[i].params = control.Params{Open: true, Probability: 1, Multiplier: 1}
	}
	return d
}

func (d *day) run() {
	for step := range d.Market.steps {
		d.isBlind = d.blind(step)
		d.settle(step)
		if d.Scenario.budgets && step == steps/2 {
			for i := range d.states {
				d.states[i].budget *= [...]float64{1.5, 0.7, 1, 1}[i%4]
			}
		}
		if step*stepSeconds%d.Seconds == 0 && !d.unlimited {
			d.control(step)
		}
		demand := 1.0
		if d.Scenario.demand != nil {
			demand = d.Scenario.demand(step)
		}
		for range d.poisson(requestsPerStep * traffic(step) * demand) {
			d.auction(step)
		}
	}
}

// settle charges what is due, and reports what is known now.
func (d *day) settle(step int) {
	for _, c := range d.due[step] {
		s := &d.states[c.campaign]
		s.charged += c.micros
		s.slots[step/slotSteps] += c.micros
		if s.done == steps && s.charged >= nearlySpent*s.budget {
			s.done = step
		}
		at := step + 1 + int(d.Scenario.lag(step)/stepSeconds)
		d.reported[at] = append(d.reported[at], c)
	}
	for _, c := range d.reported[step] {
		d.states[c.campaign].known += c.micros
	}
}

// blind reports whether the pacers see nothing now.
func (d *day) blind(step int) bool { return d.Scenario.blind && d.Scenario.lag(step) > 30 }

// control steps the pacers.
func (d *day) control(step int) {
	for i := range d.states {
		s, c := &d.states[i], &d.campaigns[i]
		o := control.Observation{
			AtMs: int64(step+1) * stepSeconds * 1000, Day: 1, Budget: s.budget, Planned: d.plan[step], Delayed: c.clicks,
		}
		switch {
		case !d.isBlind:
			s.seen, s.seenAt = d.look(s, step), step
		case d.Scenario.unaware:
			s.seen = seen{known: s.known}
		default:
			o.AgeMs = int64(step-s.seenAt) * stepSeconds * 1000
		}
		o.Spent, o.Flight, o.Cost = s.seen.known, s.seen.flight, s.seen.cost
		before := s.params
		s.pace, s.params, _ = d.pacer.Step(s.pace, o)
		if step > 0 {
			s.moved += math.Abs(math.Log(s.params.Probability / before.Probability))
			s.moved += math.Abs(math.Log(s.params.Multiplier / before.Multiplier))
			s.changes++
		}
		s.cost = 0
		s.flight *= math.Exp(-float64(d.Seconds) / c.delay)
	}
}

// look returns what a pacer sees. s.seen is what it has seen before.
func (d *day) look(s *state, step int) seen {
	charged, shown := s.known-s.seen.known, s.shown
	s.shown = 0
	took := time.Duration(max(1, step-s.seenAt)) * stepSeconds * time.Second
	tick := min(1, float64(d.Seconds)/took.Seconds()) // the cost is that of a tick
	switch d.Knows {
	case Charges:
		return seen{s.known, 0, charged * tick}
	case Reports:
		decay := inflight.After(took)
		flight, cost := s.reports.Step(shown, charged, &decay)
		return seen{s.known, flight, cost * tick}
	case Flight:
		return seen{s.known, s.flight, s.cost}
	case Shown:
	}
	return seen{s.known, 0, s.cost}
}

// open reports whether a campaign may take part in an auction, by what is known at this step.
func (d *day) open(s *state, step int) bool {
	if d.unlimited {
		return true
	}
	spent := s.known
	switch {
	case !d.isBlind && d.Knows == Flight:
		spent += s.flight
	case !d.isBlind:
		spent += s.seen.flight
	case !d.Scenario.unaware:
		spent = s.seen.known + s.seen.flight + s.pace.Rate*float64(step-s.seenAt)*stepSeconds/control.Tick.Seconds()
	}
	return spent < s.budget
}

// float is d.rng.Float64, without the call of an interface for each of a hundred million numbers.
func (d *day) float() float64 { return float64(d.pcg.Uint64()<<11>>11) / (1 << 53) }

// auction sells a request to the highest bid, at the price of the second one.
func (d *day) auction(step int) {
	first, second, winner, value := float64(reserve), 0.0, -1, 0.0
	for _, i := range d.segments[d.rng.IntN(segments)] {
		s := &d.states[i]
		if !d.open(s, step) || s.params.Probability < 1 && d.float() >= s.params.Probability {
			continue
		}
		worth := d.campaigns[i].bid * (0.2 + 3.2*d.float()*d.float())
		switch bid := worth * s.params.Multiplier; {
		case bid > first:
			first, second, winner, value = bid, first, i, worth
		case bid > second:
			second = bid
		}
	}
	if winner < 0 {
		return
	}
	price := max(second, reserve)
	s, c := &d.states[winner], &d.campaigns[winner]
	s.value += value
	s.cost += price
	s.shown += price
	s.flight += price
	at := min(step+1+int(c.delay*d.rng.ExpFloat64()/stepSeconds), steps-1)
	if at <= step {
		return
	}
	switch {
	case !c.clicks:
		d.due[at] = append(d.due[at], charge{winner, price})
	case d.float() < c.clickRate:
		d.due[at] = append(d.due[at], charge{winner, price / c.clickRate})
	}
}

// poisson draws a number with a mean of about 100 at most.
func (d *day) poisson(mean float64) int {
	for n, p, end := 0, 1.0, math.Exp(-mean); ; n++ {
		if p *= d.float(); p <= end {
			return n
		}
	}
}
