package budget

import (
	"math/bits"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/pacing/plan"
)

// Plan is what a campaign may spend on a budget day.
type Plan struct {
	Day            events.Day
	BeginMs, EndMs int64 // of the day; EndMs is the begin of the next one
	// Limits are the campaign's own budget, if it has one, and those above it, the nearest first.
	// All of them hold: the campaign stops when one is spent.
	Limits []DayLimit
	Arms   []Arm // of the campaign
}

// DayLimit is a budget on a day. The spend that counts against it is that of Campaign, or of all
// campaigns below Shared.
type DayLimit struct {
	Campaign, Shared string // one of them is set
	Kind             Kind
	Running          bool // the day is in a flight
	// From and To are the budget days whose spend counts against PeriodMicros, both included. To is
	// not after the day. From is 0 for a lifetime without flights: all days.
	From, To     events.Day
	PeriodMicros int64 // of From and To together
	DayMicros    int64 // the most of the day, whatever was spent before

	// The day has part / whole of what is left of the period: milliseconds of a lifetime with an
	// end, and days of a month. whole is 0 if all of it may be spent at once.
	part, whole int64
}

// Day returns what a campaign may spend on a budget day; false: the document has no such campaign.
// d must be valid and in its normal order, loc its time zone, and day a valid day.
func (d *Document) Day(campaign string, day events.Day, loc *time.Location) (Plan, bool) {
	c, ok := d.Campaign(campaign)
	if !ok {
		return Plan{}, false
	}
	w, _ := plan.DayWindow(day, loc)
	p := Plan{Day: day, BeginMs: w.BeginMs, EndMs: w.EndMs, Arms: c.Arms}
	if c.Limit.Kind != None {
		l := c.Limit.OnDay(day, w, loc)
		l.Campaign = c.ID
		p.Limits = append(p.Limits, l)
	}
	for at := c.Shared; at != ""; {
		s, ok := d.shared(at)
		if !ok { // not in a valid document
			break
		}
		l := s.Limit.OnDay(day, w, loc)
		l.Shared = s.ID
		p.Limits = append(p.Limits, l)
		at = s.Parent
	}
	return p, true
}

// OnDay returns the budget on a day, whose window in the time zone loc is w.
func (l *Limit) OnDay(day events.Day, w plan.Window, loc *time.Location) DayLimit {
	out := DayLimit{Kind: l.Kind, Running: l.runs(day), From: day, To: day}
	if !out.Running {
		return out
	}
	switch l.Kind {
	case None:
	case Daily:
		out.DayMicros, out.PeriodMicros = l.Micros, l.Micros
	case AverageDaily:
		first, last := monthOf(day)
		out.From = first
		out.PeriodMicros = l.Micros * l.daysIn(first, last) // at most 31 MaxMicros
		out.DayMicros = min(share(l.Micros, int64(l.CapPPM), PPM), out.PeriodMicros)
		out.part, out.whole = 1, l.daysIn(day, last)
	case Lifetime:
		out.From = 0
		out.DayMicros, out.PeriodMicros = l.Micros, l.Micros
		if n := len(l.Flights); n > 0 {
			out.From = l.Flights[0].Begin
			if l.Flights[n-1].End != NoEnd {
				out.part, out.whole = w.EndMs-w.BeginMs, l.msFrom(day, loc)
			}
		}
	}
	return out
}

// Budget returns the micros that may be spent on the day, if spent micros were spent in the days
// from l.From to the day before. What is left of a month, or of a lifetime with an end, is spread
// over the days that are left: what a day did not spend is spread over all later ones, and what it
// overspent is missing on them. Compute it once, at the begin of a day: within a day it would
// change with spend of earlier days that arrives late.
func (l *DayLimit) Budget(spent int64) int64 {
	left := l.PeriodMicros
	if spent > 0 {
		left = max(0, left-spent)
	}
	if l.whole > 0 {
		left = shareUp(left, l.part, l.whole)
	}
	return min(left, l.DayMicros)
}

// Budget returns the micros of the arm, of a day's budget of its campaign. It rounds down, so that
// the arms together never exceed the budget.
func (a Arm) Budget(micros int64) int64 { return share(micros, int64(a.PPM), PPM) }

// NextFlight returns the begin of the first flight after day; 0: no flight follows.
func (l *Limit) NextFlight(day events.Day) events.Day {
	for _, f := range l.Flights { // in order
		if f.Begin > day {
			return f.Begin
		}
	}
	return 0
}

// runs reports whether day is in a flight.
func (l *Limit) runs(day events.Day) bool { return len(l.Flights) == 0 || l.daysIn(day, day) > 0 }

// daysIn returns the number of calendar days from first to last that are in flights.
func (l *Limit) daysIn(first, last events.Day) (n int64) {
	if len(l.Flights) == 0 {
		return daysBetween(first, last)
	}
	for _, f := range l.Flights {
		n += daysBetween(max(first, f.Begin), min(last, f.End))
	}
	return n
}

// msFrom returns the milliseconds of the flights from the begin of day on.
func (l *Limit) msFrom(day events.Day, loc *time.Location) (ms int64) {
	for _, f := range l.Flights {
		if f.End >= day {
			first, _ := plan.DayWindow(max(day, f.Begin), loc)
			last, _ := plan.DayWindow(f.End, loc)
			ms += last.EndMs - first.BeginMs
		}
	}
	return ms
}

// share returns amount times part divided by whole, rounded down. part is at most 2 wholes, and
// amount not negative.
func share(amount, part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(amount), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}

// shareUp is share rounded up, with a part of at most whole.
func shareUp(amount, part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(amount), uint64(part))
	q, rest := bits.Div64(hi, lo, uint64(whole))
	if rest > 0 {
		q++
	}
	return int64(q)
}
