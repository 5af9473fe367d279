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
	Paused  bool    // the campaign takes part in no auction, whatever its parameters
	Delayed bool    // see Signals
	Limited bool    // a node above the campaign has lower parameters: see Hierarchy
	Action  float64 // mean cost of one charged action, micros; 0: not known: see TinyActions
}

// Params are the parameters of a campaign.
type Params struct {
	Open        bool    // the gate: if false, the campaign takes part in no auction
	Probability float64 // that the campaign takes part in an auction
	Multiplier  float64 // of its bids
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
	FirstTick Reason = "first_tick"
	TinyNow   Reason = "tiny_budget" // one action after the other, by the plan
)

// Config is the configuration of a Pacer. Its zero value works.
type Config struct {
	// Controller is the rule. Defaults to Ratio.
	Controller Controller
	// HoldAfter is the age of the data from which on parameters stay. Defaults to 30 s.
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
type Pacer struct{ cfg Config }

// NewPacer returns a Pacer.
func NewPacer(cfg Config) *Pacer {
	if cfg.Controller == nil {
		cfg.Controller = Ratio{}
	}
	if cfg.HoldAfter == 0 {
		cfg.HoldAfter = 30 * time.Second
	}
	if cfg.StopAfter == 0 {
		cfg.StopAfter = 10 * time.Minute
	}
	return &Pacer{cfg}
}

// Pace is the state of a campaign. Its zero value is that of a new campaign.
type Pace struct {
	State
	Day     int32
	AtMs    int64   // of the last step; 0: none
	Budget  float64 // of the last step
	Planned float64 // of the last step
	Closed  bool    // the budget was spent
	Rate    float64 // cost of a tick, a long mean: what a tick is taken to cost while data are stale

	// Allowance is what may be spent until the next step, micros: up to the budget, and of a tiny
	// budget up to one action ahead of the plan. A server that reserves gets a part of it.
	Allowance float64

	// The plan begins where the budget of the day was set: with an effective spend of AnchorSpent
	// micros, at AnchorPlanned.
	AnchorSpent, AnchorPlanned float64
	// Chance is the sum of the probability over the Ticks before the budget was nearly spent.
	Chance, Ticks float64
}

// Step returns the next state, the parameters and their reason.
func (p *Pacer) Step(s Pace, o Observation) (Pace, Params, Reason) {
	o.clean()
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
	if begins || o.Budget != s.Budget {
		s.AnchorSpent, s.AnchorPlanned, s.Error = effective, o.Planned, 0
	}
	s.Closed = o.Budget-effective <= 0 || s.Closed && o.Budget-effective < ReopenShare*o.Budget
	ticks := float64(o.AtMs-s.AtMs) / float64(Tick.Milliseconds())
	reason := FirstTick
	switch {
	case o.Budget <= 0:
		reason = NoBudget
	case age >= p.cfg.StopAfter && !p.cfg.KeepStale:
		reason = TooOld
	case s.Closed:
		reason = Spent
	case stale:
		reason = Stale
	case o.Paused:
		reason = PausedNow
	case o.tiny():
		reason = TinyNow
		s.Probability = min(1, s.Probability*math.Exp(MaxStep*min(max(ticks, 0), 1)))
	case ticks > 0 && !begins:
		reason = p.control(&s, &o, min(ticks, maxTicks+1))
	}
	s.AtMs, s.Budget, s.Planned = max(s.AtMs, o.AtMs), o.Budget, max(s.Planned, o.Planned)
	open := !s.Closed && reason != NoBudget && reason != TooOld
	s.Allowance = 0
	if open {
		s.Allowance = s.allowance(&o, effective)
		open = !o.tiny() || s.Allowance >= o.Action*(1-1e-9)
	}
	return s, Params{Open: open, Probability: s.Probability, Multiplier: s.Multiplier}, reason
}

// begin returns the state at the begin of a day.
func (p *Pacer) begin(s *Pace, o *Observation) Pace {
	chance := 0.0
	if s.Ticks > 0 {
		chance = min(max(s.Chance/s.Ticks, leastChance), mostChance)
	}
	return Pace{State: p.cfg.Controller.Start(chance), Day: o.Day, AtMs: o.AtMs, Rate: s.Rate}
}

// control steps the controller. After a pause of the ticks, the step is that of the next one.
func (p *Pacer) control(s *Pace, o *Observation, ticks float64) Reason {
	sig := Signals{
		Budget: o.Budget, Spent: o.Spent + o.Flight, Planned: s.target(o.Budget, o.Planned), Cost: o.Cost, Ticks: ticks, Delayed: o.Delayed,
	}
	sig.Grown = max(0, sig.Planned-s.target(o.Budget, s.Planned))
	if ticks <= maxTicks {
		before := s.State
		s.State = p.cfg.Controller.Step(s.State, sig)
		if o.Limited && (s.Probability > before.Probability || s.Multiplier > before.Multiplier) {
			// It would have no effect now, and a burst when the limit is gone.
			s.Probability, s.Multiplier, s.Dual = before.Probability, before.Multiplier, before.Dual
		}
		s.Rate += (1 - math.Pow(1-rateWeight, ticks)) * (o.Cost/ticks - s.Rate)
	}
	if sig.Spent < nearlySpent*o.Budget {
		s.Chance, s.Ticks = s.Chance+s.Probability*ticks, s.Ticks+ticks
	}
	if sig.Spent > sig.Planned*o.Budget {
		return Ahead
	}
	return Behind
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
	o.AgeMs = max(o.AgeMs, 0)
}
