package control

import (
	"math"
	"time"
)

// Observation is what is known of a campaign at a time.
type Observation struct {
	AtMs    int64   // Unix milliseconds
	Day     int32   // budget day, YYYYMMDD
	Budget  float64 // of the day, micros; 0 or less: nothing may be spent
	Spent   float64 // charged on the day, micros, less refunds
	Flight  float64 // expected cost of the ads of the day that were shown and not charged, micros
	Cost    float64 // expected cost of the ads that were shown since the last observation, micros
	Planned float64 // share of the budget that is planned to be spent by now
	AgeMs   int64   // of Spent, Flight and Cost
	Paused  bool    // the parameters have no effect, and stay
	Serves  bool    // with Paused: the campaign takes part in auctions nevertheless, by the caller's decision
	Delayed bool    // see Signals
	Limited Limits  // by the nodes above the campaign: see Hierarchy
	Action  float64 // mean cost of one charged action, micros; 0: not known: see TinyActions
	Peers   Peers   // controllers of the same campaign in other datacentres
}

// Params are the parameters of a campaign.
type Params struct {
	Open        bool    // the gate: if false, the campaign takes part in no auction
	Probability float64 // that the campaign takes part in an auction
	Multiplier  float64 // of its bids
}

// Override returns the parameters while an operator has set the probability. 0 closes the gate.
func (p Params) Override(probability float64) Params {
	if probability > 0 {
		p.Probability = probability
	} else {
		p.Open = false
	}
	return p
}

// OverrideReason returns the reason of parameters whose probability an operator has set.
func OverrideReason(probability float64) Reason {
	if probability > 0 {
		return Override
	}
	return PausedNow
}

// Continued returns the reason of a step, or that of the step before, was, if the step has moved
// nothing: a controller that continues from a state has no new reason yet. sameDay is whether the
// step before was on the same day.
func (r Reason) Continued(was Reason, sameDay bool) Reason {
	if r == FirstTick && sameDay && (was == Ahead || was == Behind) {
		return was
	}
	return r
}

// Reason is why the parameters are as they are.
type Reason string

// The reasons.
const (
	Behind    Reason = "behind_plan"
	Ahead     Reason = "ahead_of_plan"
	Spent     Reason = "budget_spent"
	NoBudget  Reason = "no_budget"
	Stale     Reason = "stale_hold" // parameters stay, and the spend is extrapolated
	TooOld    Reason = "stale_stop" // the data are so old that the campaign stops
	PausedNow Reason = "paused"
	Override  Reason = "override" // paused, and it serves: an operator has set the probability
	FirstTick Reason = "first_tick"
	TinyNow   Reason = "tiny_budget" // one action after the other, by the plan
	Earlier   Reason = "earlier_day" // the observation came late, and changes nothing
)

// Config is the configuration of a Pacer. Its zero value works.
type Config struct {
	// Controller is the rule. Defaults to Ratio.
	Controller Controller
	// HoldAfter is the age of the data from which on parameters stay. Defaults to HoldAfter.
	HoldAfter time.Duration
	// StopAfter is the age from which on a campaign stops. Defaults to 10 minutes.
	StopAfter time.Duration
	// KeepStale lets a campaign go on after StopAfter, by its extrapolated spend.
	KeepStale bool
}

// Bounds of a Pacer.
const (
	// ReopenShare is the share of the budget that a refund has to leave for the gate to open again.
	ReopenShare = 0.005
	// HoldAfter is the default of Config.HoldAfter.
	HoldAfter = 30 * time.Second
	// MaxStep is the greatest change of the logarithm of a parameter in a tick.
	MaxStep = 0.1

	maxTicks   = 6    // a longer time between two steps is a pause
	rateWeight = 0.02 // of a tick, in Pace.Rate
)

// Bounds of the probability with which a day begins, from the day before.
const (
	leastChance = 0.02
	mostChance  = 0.5
	nearlySpent = 0.95 // share of the budget; later probabilities are not those of a day
)

// Pacer paces campaigns with a controller, and covers what all controllers have in common.
type Pacer struct {
	cfg   Config
	named map[string]*Pacer // by controller
}

// NewPacer returns a Pacer.
func NewPacer(cfg Config) *Pacer {
	if cfg.Controller == nil {
		cfg.Controller = Ratio{}
	}
	if cfg.HoldAfter == 0 {
		cfg.HoldAfter = HoldAfter
	}
	if cfg.StopAfter == 0 {
		cfg.StopAfter = 10 * time.Minute
	}
	p := &Pacer{cfg, map[string]*Pacer{}}
	for _, c := range Controllers() {
		cfg.Controller = c
		p.named[c.Name()] = &Pacer{cfg, p.named}
	}
	return p
}

// With returns a Pacer that differs in its controller: one of this package, by its name. It returns
// p for a name that is not known.
func (p *Pacer) With(controller string) *Pacer {
	if named := p.named[controller]; named != nil {
		return named
	}
	return p
}

// Controller returns the name of the rule.
func (p *Pacer) Controller() string { return p.cfg.Controller.Name() }

// Pace is the state of a campaign. Its zero value is that of a new campaign.
type Pace struct {
	State
	Day     int32
	AtMs    int64   // of the last step; 0: none
	Budget  float64 // of the last step
	Planned float64 // of the last step
	Closed  bool    // the budget was spent
	Open    bool    // Params.Open of the last step
	Tiny    bool    // the budget has been tiny on the day: see TinyActions
	Action  float64 // last known Observation.Action of the day, micros
	Rate    float64 // cost of a tick, a long mean: what a tick is taken to cost while data are stale

	// Allowance is what may be spent until the next step, micros: up to the budget, and of a tiny
	// budget up to one action ahead of the plan. A server that reserves gets a part of it.
	Allowance float64

	// The plan begins where the budget of the day was set, or where another plan took its place
	// whose share is less than AnchorPlanned: with an effective spend of AnchorSpent micros.
	AnchorSpent, AnchorPlanned float64
	// Chance is the sum of the probability, times the multiplier, over the Ticks before the budget
	// was nearly spent.
	Chance, Ticks float64
}

// Valid reports whether s can be a result of Step, or is the zero value: its numbers are finite and
// in their bounds. A state that was read from a topic may not be.
func (s *Pace) Valid() bool {
	if s.AtMs == 0 {
		return *s == Pace{}
	}
	for _, v := range [...]float64{s.Budget, s.Action, s.Rate, s.Allowance, s.AnchorSpent, s.Chance, s.Ticks} {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return false
		}
	}
	for _, v := range [...]float64{s.Planned, s.AnchorPlanned} {
		if !(v >= 0 && v <= 1) {
			return false
		}
	}
	p := Params{Probability: s.Probability, Multiplier: s.Multiplier}
	return p.Valid() && s.finite()
}

// Valid reports whether the parameters are in their bounds: PACE-1.
func (p Params) Valid() bool {
	in := func(v, low float64) bool { return v >= low && v <= 1 }
	return in(p.Probability, MinProbability) && in(p.Multiplier, minMultiplier)
}

// Step returns the next state, the parameters and their reason. An observation of an earlier day
// changes nothing, unless its time is later: then the time zone of the days has changed, and the
// day begins again.
func (p *Pacer) Step(s Pace, o Observation) (Pace, Params, Reason) {
	o.clean()
	if o.Day < s.Day && o.AtMs <= s.AtMs {
		return s, Params{Open: s.Open, Probability: s.Probability, Multiplier: s.Multiplier}, Earlier
	}
	age := time.Duration(o.AgeMs) * time.Millisecond
	stale := age >= p.cfg.HoldAfter
	begins := s.AtMs == 0 || o.Day != s.Day
	if begins {
		s = p.begin(&s, &o)
	}
	effective := o.Spent + o.Flight
	if stale {
		effective += s.Rate * float64(age) / float64(Tick)
	}
	if begins || o.Budget != s.Budget || o.AtMs >= s.AtMs && o.Planned < s.AnchorPlanned {
		s.AnchorSpent, s.AnchorPlanned, s.Error = effective, o.Planned, 0
	}
	s.Closed = o.Budget-effective <= 0 || s.Closed && o.Budget-effective < ReopenShare*o.Budget
	s.observe(&o)
	ticks := (float64(o.AtMs) - float64(s.AtMs)) / float64(Tick.Milliseconds())
	reason := FirstTick
	switch {
	case o.Budget <= 0:
		reason = NoBudget
	case age >= p.cfg.StopAfter && !p.cfg.KeepStale:
		reason = TooOld
	case s.Closed:
		reason = Spent
	case o.Paused:
		if reason = PausedNow; o.Serves {
			reason = Override
		}
		if !stale && !begins {
			s.pause(&o, min(max(ticks, 0), maxTicks))
		}
	case stale:
		reason = Stale
	case s.Tiny:
		reason = TinyNow
		s.Probability = min(1, s.Probability*math.Exp(MaxStep*min(max(ticks, 0), 1)))
	case ticks > 0 && !begins:
		reason = p.control(&s, &o, min(ticks, maxTicks+1))
	}
	if o.AtMs >= s.AtMs { // also if the plan falls: its growth counts from there
		s.AtMs, s.Planned = o.AtMs, o.Planned
	}
	s.Budget, s.Allowance = o.Budget, 0
	s.Open = !s.Closed && reason != NoBudget && reason != TooOld
	if s.Open {
		s.Allowance = s.allowance(&o, effective)
		s.Open = !s.Tiny || s.Allowance >= s.Action*(1-1e-9)
	}
	return s, Params{Open: s.Open, Probability: s.Probability, Multiplier: s.Multiplier}, reason
}

// begin returns the state at the begin of a day.
func (p *Pacer) begin(s *Pace, o *Observation) Pace {
	chance := 0.0
	if s.Ticks > 0 {
		chance = min(max(s.Chance/s.Ticks, leastChance), mostChance)
	}
	first := p.cfg.Controller.Start(chance)
	if !first.finite() {
		first = start(chance)
	}
	first.Probability, first.Multiplier = bound(first.Probability, MinProbability), bound(first.Multiplier, minMultiplier)
	return Pace{State: first, Day: o.Day, AtMs: o.AtMs, Rate: s.Rate}
}

// Continue returns the state of a campaign that another controller has paced until now. Its
// parameters are those of before: they move in the next steps, PACE-2. The next day has a hint of
// the new controller alone.
func (p *Pacer) Continue(s Pace) Pace {
	if s.AtMs != 0 {
		first := p.cfg.Controller.Start(s.Probability * s.Multiplier)
		first.Probability, first.Multiplier, first.Cost, first.Need = s.Probability, s.Multiplier, s.Cost, s.Need
		if s.Chance, s.Ticks = 0, 0; first.finite() {
			s.State = first
		}
	}
	return s
}

// control steps the controller. After a pause of the ticks, the step is that of the next one.
func (p *Pacer) control(s *Pace, o *Observation, ticks float64) Reason {
	sig := Signals{
		Budget: o.Budget, Spent: o.Spent + o.Flight, Planned: s.target(o.Budget, o.Planned), Cost: o.Cost, Ticks: ticks, Delayed: o.Delayed,
		BidsLimited: o.Limited.Bids,
	}
	sig.Grown = max(0, sig.Planned-s.target(o.Budget, s.Planned))
	if ticks <= maxTicks {
		before := s.State
		s.State = p.cfg.Controller.Step(s.State, sig)
		if s.Dual > 0 && !o.Limited.Bids || !(s.Dual > 0) && !o.Limited.Probability {
			s.approach(o.Peers, ticks)
		}
		s.limit(&before, ticks)
		// A parameter that is limited does not rise: it would have no effect now, and a burst when
		// the limit is gone.
		if o.Limited.Probability {
			s.Probability = min(s.Probability, before.Probability)
		}
		if o.Limited.Bids && s.Multiplier > before.Multiplier {
			s.Multiplier, s.Dual = before.Multiplier, before.Dual
		}
		s.follow(o.Cost, ticks)
	}
	if sig.Spent < nearlySpent*o.Budget {
		s.Chance, s.Ticks = s.Chance+s.Probability*s.Multiplier*ticks, s.Ticks+ticks
	}
	if sig.Spent > sig.Planned*o.Budget {
		return Ahead
	}
	return Behind
}

// pause lets some ticks pass without a step.
func (s *Pace) pause(o *Observation, ticks float64) {
	s.Chance, s.Ticks = s.Chance+s.Probability*s.Multiplier*ticks, s.Ticks+ticks
	if o.Serves && ticks > 0 {
		s.follow(o.Cost, ticks)
	}
}

// follow moves the rate to the cost of some ticks.
func (s *Pace) follow(cost, ticks float64) {
	s.Rate += (1 - math.Pow(1-rateWeight, ticks)) * (cost/ticks - s.Rate)
}

// target returns the share of a budget that is to be spent when a share of the plan of the day has
// passed.
func (s *Pace) target(budget, planned float64) float64 {
	if s.AnchorPlanned >= planEnd || planned >= planEnd {
		return 1
	}
	from := min(s.AnchorSpent/budget, 1)
	return from + (1-from)*max(0, planned-s.AnchorPlanned)/(1-s.AnchorPlanned)
}

// PlannedSpend returns what the campaign was to have spent by the last step, in micros. Where the
// budget of the day was changed, that is not Planned of the budget: the plan begins there again.
func (s *Pace) PlannedSpend() float64 {
	if s.Budget <= 0 {
		return 0
	}
	return s.Budget * s.target(s.Budget, s.Planned)
}

// clean replaces what is not a number, and bounds the others. A spend that is not known stops the
// campaign.
func (o *Observation) clean() {
	const most = 1e24
	limit := func(v *float64, high, unknown float64) {
		if math.IsNaN(*v) {
			*v = unknown
		}
		*v = min(max(*v, 0), high)
	}
	limit(&o.Budget, most, 0)
	limit(&o.Spent, most, most)
	limit(&o.Flight, most, most)
	limit(&o.Cost, most, 0)
	limit(&o.Planned, 1, 1)
	limit(&o.Action, most, 0)
	o.AgeMs = min(max(o.AgeMs, 0), math.MaxInt64/int64(time.Millisecond)) // it is a Duration
}
