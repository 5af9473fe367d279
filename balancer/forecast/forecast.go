package forecast

import (
	"math"
	"time"
)

// Method is a method to forecast new leases.
type Method uint8

// The methods.
const (
	// EWMA is the mean of the past, weighted by age: half of the weight is on the last five
	// minutes. It lags behind ramps and is robust.
	EWMA Method = iota
	// Holt adds a trend, damped (Gardner, McKenzie 1985): it follows ramps and overshoots at peaks.
	Holt
	// Seasonal is the usual rate at this hour of the week, or of the day during the first weeks,
	// plus the EWMA of the difference of the last minutes from it. Without a history it is EWMA.
	Seasonal

	// Methods is the number of methods.
	Methods = 3
)

// String returns the name of the method, as in settings.
func (m Method) String() string {
	return [...]string{"ewma", "holt", "seasonal"}[m%Methods]
}

// ParseMethod returns a method by its name; false for "auto", an empty name or an unknown one.
func ParseMethod(name string) (m Method, ok bool) {
	for m := range Method(Methods) {
		if m.String() == name {
			return m, true
		}
	}
	return 0, false
}

// Times of a forecast.
const (
	DefaultHorizon = 10 * time.Minute // how far a forecast reaches
	MinHorizon     = 30 * time.Second // least horizon of a plan, for short leases: a transfer takes some seconds

	stepMs           = 30_000 // arrivals are counted in steps of this length
	horizonSteps     = int64(DefaultHorizon / (stepMs * time.Millisecond))
	stride           = 4 // steps between two scored forecasts
	pendingForecasts = int(horizonSteps / stride)
	longGap          = 240 // steps without arrivals after which the past is discarded
)

const (
	recentHalfLife = 10_000 // ms; half-life of the rate of the last seconds
	damping        = 0.9    // of Holt's trend, a step
	trendGain      = 0.1
	underCost      = 3.0       // cost of a lease too few in a forecast, in leases too many: it may be refused
	minSamples     = 30        // scored forecasts before another method is chosen: an hour
	maxScoreRatio  = 0.85      // another method's score must be below this share of the present one's
	minGain        = 1.0 / 600 // and lower by at least this: a lease in ten minutes
)

// Series has the arrivals of new leases of a pool in a region, as far as forecasts need them: 301
// bytes when encoded. The caller passes the time; equal calls make equal series.
type Series struct {
	step  int64   // number of the open step, time divided by stepMs; 0 before the first arrival
	count float64 // arrivals in it
	total float64 // of all closed steps
	age   float64 // number of closed steps

	level float64 // EWMA of arrivals per second
	prior float64 // EWMA of the profile at the same steps: level - prior is the difference of the last minutes
	holt  float64 // Holt's level
	trend float64 // a second, a step

	hourSum   float64 // arrivals of this hour, for the profile
	hourSteps float64

	recent         float64        // arrivals per second, of about the last ten seconds
	recentMs       int64          // time of recent
	recentArrivals recentArrivals // of the last eight seconds

	past      [pendingForecasts]scoredForecast // forecasts to score, by stride
	score     [Methods]float64
	square    [Methods]float64 // mean of the squared errors
	samples   float64          // scored forecasts
	swungAway float64          // arrivals per second that a swing has taken from here
}

// scoredForecast has the forecast of each method at one step, until it is scored.
type scoredForecast struct {
	total float64 // Series.total at the step
	step  int64   // 0: no forecast
	rate  [Methods]float32
}

// Add counts n arrivals at a time. An arrival before the open step counts in the open step.
func (s *Series) Add(atMs int64, n float64, p *Profile) {
	s.Advance(atMs, p)
	s.count += n
	s.recent = s.decayedRate(atMs) + n*1000*math.Ln2/recentHalfLife
	s.recentMs = max(s.recentMs, atMs)
	s.recentArrivals.add(atMs, n)
}

// Empty reports whether no arrival was ever seen.
func (s *Series) Empty() bool { return s.step == 0 }

// Arrivals returns the number of all arrivals.
func (s *Series) Arrivals() float64 { return s.total + s.count }

// Recent returns the arrivals per second of the last seconds before a time. It shows a burst long
// before the forecast does.
func (s *Series) Recent(atMs int64) float64 {
	return max(s.decayedRate(atMs), s.recentArrivals.minRate(atMs))
}

func (s *Series) decayedRate(atMs int64) float64 {
	if atMs <= s.recentMs {
		return s.recent
	}
	return s.recent * math.Exp2(-float64(atMs-s.recentMs)/recentHalfLife)
}

// Advance closes the steps before a time, and reports whether there were any.
func (s *Series) Advance(atMs int64, p *Profile) (closed bool) {
	before, step := s.step, atMs/stepMs
	switch {
	case s.step == 0:
		s.step = step
	case step-s.step > longGap:
		swung := s.swungAway
		*s = Series{
			step: step, recent: s.recent, recentMs: s.recentMs, score: s.score, square: s.square, samples: s.samples, swungAway: swung,
		}
	}
	for s.step < step {
		s.close(p)
	}
	return s.step != before
}

// close ends the open step.
func (s *Series) close(p *Profile) {
	x := s.count / (stepMs / 1000)
	a := 1 - math.Exp2(-stepMs/300_000.0)
	usual, known := p.at(s.step*stepMs + stepMs/2)
	if !known {
		usual = s.level
	}
	s.age++
	a = max(a, 1/s.age) // at first the mean of all steps
	s.level += a * (x - s.level)
	s.prior += a * (usual - s.prior)
	ah := max(1-math.Exp2(-stepMs/60_000.0), 1/s.age)
	before := s.holt
	s.holt = ah*x + (1-ah)*(s.holt+damping*s.trend)
	if s.trend = damping*s.trend + trendGain*(s.holt-before-damping*s.trend); s.age == 1 {
		s.trend = 0 // one step has no trend
	}
	s.hourSum, s.hourSteps = s.hourSum+x, s.hourSteps+1
	s.total += s.count
	s.count = 0
	s.step++
	if hour := 3_600_000 / int64(stepMs); s.step%hour == 0 {
		if s.hourSteps == float64(hour) { // a whole hour
			p.learn((s.step-1)*stepMs, s.hourSum/s.hourSteps)
		}
		s.hourSum, s.hourSteps = 0, 0
	}
	if s.step%stride == 0 {
		s.scoreForecasts(p)
	}
}

// scoreForecasts scores the forecasts of one horizon ago, and keeps the present forecasts to score
// them one horizon later.
func (s *Series) scoreForecasts(p *Profile) {
	g := &s.past[int(s.step/stride)%pendingForecasts]
	if g.step == s.step-horizonSteps {
		seconds := DefaultHorizon.Seconds()
		actual := (s.total - g.total) / seconds
		s.samples++
		keep := min(1-1/s.samples, math.Exp2(-1.0/60)) // a mean at first, then a half-life of two hours
		for m := range s.score {
			off := actual - float64(g.rate[m])
			loss := max(-off, underCost*off)
			s.score[m] = keep*s.score[m] + (1-keep)*loss
			s.square[m] = keep*s.square[m] + (1-keep)*off*off
		}
	}
	*g = scoredForecast{total: s.total, step: s.step}
	for m := range g.rate {
		g.rate[m] = float32(s.rate(Method(m), p))
	}
}

// rate returns the arrivals per second that a method expects over the horizon.
func (s *Series) rate(m Method, p *Profile) float64 {
	switch m {
	case Holt:
		// The mean over the steps h = 1..n of damping + ... + damping^h.
		const n = float64(horizonSteps)
		sum := damping / (1 - damping) * (1 - damping/(1-damping)*(1-math.Pow(damping, n))/n)
		return max(0, s.holt+sum*s.trend)
	case Seasonal:
		if usual, known := p.at(s.step*stepMs + DefaultHorizon.Milliseconds()/2); known {
			return max(0, usual+s.level-s.prior)
		}
	case EWMA:
	}
	return max(0, s.level)
}

// Forecast returns the arrivals per second that a method expects over the horizon, and the standard
// deviation of the method's error, at least that of Poisson arrivals of that rate.
func (s *Series) Forecast(m Method, p *Profile) (rate, spread float64) {
	rate = s.rate(m, p)
	return rate, math.Sqrt(max(rate/DefaultHorizon.Seconds(), s.square[m]))
}

// Choose returns the method for a pool's forecast. now is the present method, series are the
// pool's in all regions. Another method must have been clearly better for an hour at least, by the
// cost of forecasts that were too low or too high.
func Choose(now Method, series []*Series) Method {
	var score [Methods]float64
	samples := 0.0
	for _, s := range series {
		samples = max(samples, s.samples)
		for m := range score {
			score[m] += s.score[m]
		}
	}
	if samples < minSamples {
		return now
	}
	best := now
	for m := range Method(Methods) {
		if score[m] < score[best] && score[m] < maxScoreRatio*score[now]-minGain {
			best = m
		}
	}
	return best
}

// Swing moves a share of the expected arrivals of one region to another at once, before the traffic
// moves.
func Swing(from, to *Series, share float64) {
	move := func(a, b *float64) float64 {
		d := share * *a
		*a, *b = *a-d, *b+d
		return d
	}
	from.swungAway += move(&from.level, &to.level)
	move(&from.holt, &to.holt)
	move(&from.trend, &to.trend)
}

// SwingBack reverts Swing: it moves as much as was moved before, if that much is left.
func SwingBack(from, to *Series) {
	d := min(from.swungAway, to.level)
	from.level, to.level = from.level+d, to.level-d
	d = min(from.swungAway, max(0, to.holt))
	from.holt, to.holt = from.holt+d, to.holt-d
	from.swungAway = 0
}
