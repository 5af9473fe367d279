package jobqueue

import "math"

// lateShare is the share of jobs that may wait for longer than the target.
const lateShare = 0.05

// Load is the load of jobs that require the same resources. Times are in seconds.
type Load struct {
	Arrivals float64 // jobs per second
	Mean     float64 // duration of an attempt
	Target   float64 // of the wait
	Backlog  float64 // jobs that are pending
	Drain    float64 // in which the backlog is to be gone
	Running  int     // jobs
}

// Slots returns the least number of slots with which at most 5 % of the jobs wait for longer than
// the target, by the formula of Erlang C (M/M/c), and with which the part of the backlog that would
// not be begun within the target is gone after Drain. It returns at least 1 if there are jobs.
func (l Load) Slots() int {
	if n := l.staff(); n > 0 || l.Backlog == 0 && l.Running == 0 {
		return n
	}
	return 1
}

// staff returns the number of slots by the formula, 0 if Mean is not known.
func (l Load) staff() int {
	if l.Mean <= 0 {
		return 0
	}
	offered := l.Arrivals * l.Mean // Erlang
	extra := max(0, l.Backlog-l.Arrivals*l.Target) * l.Mean / l.Drain
	switch {
	case offered == 0:
		return slots(extra)
	case offered > manySlots:
		return slots(offered + 2*math.Sqrt(offered) + extra)
	}
	lost := 1.0 // probability that all n slots are in use, if jobs did not wait: Erlang B
	for n := 1; ; n++ {
		lost = offered * lost / (float64(n) + offered*lost)
		free := float64(n) - offered
		if free <= 0 {
			continue
		}
		waits := lost / (1 - (1-lost)*offered/float64(n)) // Erlang C
		if waits*math.Exp(-free*l.Target/l.Mean) <= lateShare {
			return slots(float64(n) + extra)
		}
	}
}

// slots rounds a number of slots up.
func slots(n float64) int { return int(min(math.Ceil(n), math.MaxInt32)) }

// manySlots is the load from which on slots are computed by the square root of the load, which is
// the limit of the formula of Erlang for many slots.
const manySlots = 10_000
