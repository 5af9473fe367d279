package inflight

import (
	"math"
	"time"
)

// Delays returns the mean delays of the filters, from an ad to its known charge.
func Delays() [Filters]time.Duration {
	var list [Filters]time.Duration
	for i := range list {
		list[i] = shortest << i
	}
	return list
}

const (
	// Filters is the number of filters.
	Filters = 8
	// shortest is the mean delay of the first filter. The last one has 128 times of it.
	shortest = 10 * time.Second
	// MostRatio is the greatest ratio of charges to expected costs. The least one is its inverse.
	MostRatio = 10
	// memory is the time after which an observation counts a third.
	memory = 24 * time.Hour
	// trust is the number of charges of ordinary size that are worth as much as the assumption that
	// expected costs are right.
	trust = 10
)

// Estimate is what is known of the ads of a campaign. Its zero value knows nothing.
type Estimate struct {
	filters [Filters]filter
	charged float64 // sum of the charges
	squares float64 // of the charges of each step
}

// filter takes the mean delay to be one of Delays.
type filter struct {
	waiting   float64 // expected cost of the ads that are not charged yet, micros
	predicted float64 // sum of the predicted charges, by expected costs
	errors    float64 // sum of the squared errors of the predictions, in units of their variance
}

// Step takes the expected cost of the ads that were shown since the last step, and what was charged
// since then, in micros, and returns what is in flight and the cost of the ads of the step. took is
// the time since the last step; steps of more than an hour count as one.
func (e *Estimate) Step(shown, charged float64, took time.Duration) (flight, cost float64) {
	seconds := min(max(took, time.Millisecond), time.Hour).Seconds()
	shown, charged = known(shown), known(charged)
	keep := math.Exp(-seconds / memory.Seconds())
	var expected [Filters]float64 // charges of this step
	mean := 0.0
	for i, delay := range Delays() {
		f := &e.filters[i]
		stays := math.Exp(-seconds / delay.Seconds())
		// Ads of the step are spread over it, so a part of them is charged within it.
		left := f.waiting*stays + shown*delay.Seconds()/seconds*(1-stays)
		expected[i] = f.waiting + shown - left
		f.waiting = left
		mean += e.ratio(i) * expected[i] / Filters
	}
	size := e.size()
	variance := size * (mean + size)
	e.charged, e.squares = keep*e.charged+charged, keep*e.squares+charged*charged
	for i := range e.filters {
		f := &e.filters[i]
		if variance > 0 {
			off := charged - e.ratio(i)*expected[i]
			f.errors = keep*f.errors + off*off/variance
		}
		f.predicted = keep*f.predicted + expected[i]
	}
	weights := e.weights()
	for i, w := range weights {
		r := e.ratio(i)
		flight += w * r * e.filters[i].waiting
		cost += w * r * shown
	}
	return flight, cost
}

// known returns an amount, 0 for a negative one and for what is not a number.
func known(v float64) float64 {
	const most = 1e24
	if !(v > 0) {
		return 0
	}
	return min(v, most)
}

// size returns the size of a charge, micros: of several in one step, of all of them together.
func (e *Estimate) size() float64 {
	if e.charged == 0 {
		return 0
	}
	return e.squares / e.charged
}

// ratio returns what is charged for an expected cost of 1, by a filter: 1 before the first charge.
func (e *Estimate) ratio(i int) float64 {
	if e.charged == 0 {
		return 1
	}
	assumed := trust * e.size()
	return min(max((e.charged+assumed)/(e.filters[i].predicted+assumed), 1.0/MostRatio), MostRatio)
}

// weights returns how likely the filters are.
func (e *Estimate) weights() (w [Filters]float64) {
	least := math.Inf(1)
	for i := range e.filters {
		least = min(least, e.filters[i].errors)
	}
	sum := 0.0
	for i := range e.filters {
		w[i] = math.Exp((least - e.filters[i].errors) / 2)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// Begin begins a day: ads of the day before count against its budget.
func (e *Estimate) Begin() {
	for i := range e.filters {
		e.filters[i].waiting = 0
	}
}

// Delay returns the mean delay, from an ad to its known charge.
func (e *Estimate) Delay() time.Duration {
	sum := 0.0
	delays := Delays()
	for i, w := range e.weights() {
		sum += w * delays[i].Seconds()
	}
	return time.Duration(sum * float64(time.Second))
}
