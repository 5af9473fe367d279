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
	// delayMemory is the time after which an observation counts a third for the delay, and
	// ratioMemory for the ratio, which changes with what is reported.
	delayMemory = 24 * time.Hour
	ratioMemory = 6 * time.Hour
	// trust is the number of charges of ordinary size that are worth as much as the assumption that
	// expected costs are right.
	trust = 3
	// A charge counts up to mostSizes of ordinary size, or mostTimes what is expected.
	mostSizes, mostTimes = 50, 10
	// mostError bounds the error of one step.
	mostError = 25
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

// Decay is what a time does to estimates. It is the same for all of them: compute it once.
type Decay struct {
	waiting [Filters]float64 // part of the waiting ads that is not charged in the time
	shown   [Filters]float64 // the same of ads that are shown in it, spread evenly
	ratio   float64          // of what the ratio is learnt from
	errors  float64
}

// After returns the decay in a time. More than an hour counts as an hour.
func After(took time.Duration) (d Decay) {
	seconds := min(max(took, time.Millisecond), time.Hour).Seconds()
	for i, delay := range Delays() {
		d.waiting[i] = math.Exp(-seconds / delay.Seconds())
		d.shown[i] = delay.Seconds() / seconds * (1 - d.waiting[i])
	}
	d.ratio, d.errors = math.Exp(-seconds/ratioMemory.Seconds()), math.Exp(-seconds/delayMemory.Seconds())
	return d
}

// Step takes the expected cost of the ads that were shown since the last step, and what was charged
// since then, in micros, and returns what is in flight and the cost of the ads of the step. d is of
// the time since the last step.
func (e *Estimate) Step(shown, charged float64, d *Decay) (flight, cost float64) {
	shown, charged = known(shown), known(charged)
	expected := e.pass(shown, d)
	mean := 0.0
	for i := range expected {
		mean += e.ratio(i) * expected[i] / Filters
	}
	size := e.size()
	if size > 0 { // the rest is not of ads, but spend that was not known before
		charged = min(charged, max(mostSizes*size, mostTimes*mean))
	}
	variance := size * (mean + size)
	e.charged, e.squares = d.ratio*e.charged+charged, d.ratio*e.squares+charged*charged
	for i := range e.filters {
		f := &e.filters[i]
		if variance > 0 {
			off := charged - e.ratio(i)*expected[i]
			f.errors = d.errors*f.errors + min(off*off/variance, mostError)
		}
		f.predicted = d.ratio*f.predicted + expected[i]
	}
	return e.now(shown, e.weights())
}

// Pass is Step where it is not known what was charged: nothing is learnt.
func (e *Estimate) Pass(shown float64, d *Decay) (flight, cost float64) {
	shown = known(shown)
	e.pass(shown, d)
	return e.now(shown, e.weights())
}

// pass lets time pass, and returns the charges that the filters expect in it.
func (e *Estimate) pass(shown float64, d *Decay) (expected [Filters]float64) {
	for i := range e.filters {
		f := &e.filters[i]
		left := f.waiting*d.waiting[i] + shown*d.shown[i]
		expected[i] = f.waiting + shown - left
		f.waiting = left
	}
	return expected
}

// now returns the estimate by weighted filters, with the cost of ads that are expected to cost
// shown.
func (e *Estimate) now(shown float64, weights [Filters]float64) (flight, cost float64) {
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

// Summary is what another process needs to continue an estimate.
type Summary struct {
	Flight  float64       // micros
	Delay   time.Duration // mean, from an ad to its known charge
	Ratio   float64       // what is charged for an expected cost of 1
	Charged float64       // what was charged, micros: of six hours ago a third of it
	Charge  float64       // size of a charge, micros: the mean, weighted by the size
}

// Summary returns the summary of the estimate.
func (e *Estimate) Summary() (s Summary) {
	weights := e.weights()
	s.Flight, s.Ratio = e.now(1, weights)
	s.Ratio = min(max(s.Ratio, 1.0/MostRatio), MostRatio) // the sum is rounded
	seconds := 0.0
	delays := Delays()
	for i, w := range weights {
		seconds += w * delays[i].Seconds()
	}
	s.Delay, s.Charged, s.Charge = time.Duration(seconds*float64(time.Second)), e.charged, e.size()
	return s
}

// restoredErrors is how much worse than the others a restored filter has predicted that has half of
// the delay, or twice of it.
const restoredErrors = 4

// Restore returns an estimate that continues from a summary. A summary without charges has a ratio
// of 1.
func Restore(s Summary) (e Estimate) {
	delay := min(max(s.Delay, shortest), shortest<<(Filters-1)).Seconds()
	e.charged = known(s.Charged)
	size := min(known(s.Charge), e.charged)
	ratio := s.Ratio
	if !(ratio > 0) || size == 0 {
		ratio, e.charged = 1, 0
	}
	ratio = min(max(ratio, 1.0/MostRatio), MostRatio)
	e.squares = size * e.charged
	for i, of := range Delays() {
		off := math.Log2(of.Seconds() / delay)
		e.filters[i] = filter{
			waiting: known(s.Flight) / ratio, errors: restoredErrors * off * off,
			predicted: max(0, (e.charged+trust*size)/ratio-trust*size), // the inverse of ratio
		}
	}
	return e
}
