package control

// TinyActions is the number of actions, such as clicks, below which a budget is tiny: a campaign
// can spend all of it in seconds, and a probability cannot spread it.
//
// A Pacer opens the gate of such a campaign for one action after the other, as the plan continues.
// The servers reserve what they show: see Reservations. Its probability rises to 1. So a budget
// that has been tiny stays so for the rest of the day, also if it is raised, or actions become
// cheaper: at that probability, a gate for the whole budget would spend it at once.
const TinyActions = 20

// observe keeps the cost of an action, and whether the budget has been tiny.
func (s *Pace) observe(o *Observation) {
	if o.Action > 0 {
		s.Action = o.Action
	}
	s.Tiny = s.Tiny || o.Budget > 0 && o.Budget < TinyActions*s.Action
}

// allowance returns Pace.Allowance, by the effective spend, while the gate is open.
func (s *Pace) allowance(o *Observation, effective float64) float64 {
	most := o.Budget
	if s.Tiny {
		most = min(most, o.Budget*s.target(o.Budget, o.Planned)+s.Action)
	}
	return max(0, most-effective)
}

// Reservations are the ads that a server has shown and that the spend it was given does not contain
// yet. They close the time between two observations, in which many ads can be shown. The zero value
// has none. Not safe for use by several goroutines.
type Reservations struct {
	list []reservation // by time
	sum  float64
}

type reservation struct {
	atMs   int64
	micros float64
}

// Take reserves the cost of an ad at a time, in Unix milliseconds that do not fall, if it is left:
// left is the server's part of Pace.Allowance. It reports whether the ad may be shown. An
// ad that may be charged later, such as by a click, is reserved at its full cost.
func (r *Reservations) Take(atMs int64, micros, left float64) bool {
	if !(micros >= 0) || !(r.sum+micros <= left) {
		return false
	}
	if micros == 0 {
		return true
	}
	r.sum += micros
	if n := len(r.list); n > 0 && r.list[n-1].atMs >= atMs {
		r.list[n-1].micros += micros
		return true
	}
	r.list = append(r.list, reservation{atMs, micros})
	return true
}

// Release forgets the ads that were shown before a time: the spend, with the cost in flight, that
// the server was given last contains them.
func (r *Reservations) Release(asOfMs int64) {
	n := 0
	for n < len(r.list) && r.list[n].atMs < asOfMs {
		n++
	}
	r.list = append(r.list[:0], r.list[n:]...)
	r.sum = 0 // from the start, so that no rounding is left over
	for _, v := range r.list {
		r.sum += v.micros
	}
}

// Sum returns what is reserved, in micros.
func (r *Reservations) Sum() float64 { return r.sum }
