package balancer

import (
	"math"
	"time"
)

// Method is how the new leases of the next minutes are forecast.
type Method uint8

// The methods.
const (
	// EWMA is the mean of the past, weighted by age: half of the weight is on the last five minutes. It is behind every
	// ramp, and nothing upsets it.
	EWMA Method = iota
	// Holt adds a trend, damped (Gardner, McKenzie 1985): it follows ramps and overshoots at peaks.
	Holt
	// Seasonal is the usual rate at this hour of the week, or of the day while the weeks are few, and the EWMA of how the last
	// minutes differed from it. Without a history it is EWMA.
	Seasonal

	methods = 3
)

// String is the method's name, as settings have it.
func (m Method) String() string {
	return [...]string{"ewma", "holt", "seasonal"}[m%methods]
}

// MethodOf gives a method by its name; auto or empty are none.
func MethodOf(name string) (m Method, ok bool) {
	for m := range Method(methods) {
		if m.String() == name {
			return m, true
		}
	}
	return 0, false
}

// What forecasts look at and say.
const (
	DefaultHorizon = 10 * time.Minute // how far a forecast reaches
	MinHorizon     = 30 * time.Second // of a plan, however short the leases are: what is moved takes some seconds

	stepMs           = 30_000 // arrivals are counted by steps of that
	horizonSteps     = int64(DefaultHorizon / (stepMs * time.Millisecond))
	stride           = 4 // steps from one forecast that is scored to the next
	pendingForecasts = int(horizonSteps / stride)
	longGap          = 240 // steps without news after which the past says nothing
)

const (
	recentHalfLife = 10_000 // ms; half-life of the rate of the last seconds
	damping        = 0.9    // of Holt's trend, a step
	trendGain      = 0.1
	underCost      = 3.0       // a lease too few in a forecast costs as much as so many too many: it may be refused
	minSamples     = 30        // forecasts to have been scored before another method is chosen: an hour
	maxScoreRatio  = 0.85      // the other's score must be below this share of the present one's
	minGain        = 1.0 / 600 // and better by more than that: a lease in ten minutes
)

// Series is the arrivals of new leases of a pool in a region, as far as forecasts need them: 301 bytes when encoded. Time
// is what it is told; equal calls make equal series.
type Series struct {
	step  int64   // number of the open step, by stepMs; 0: nothing was seen
	count float64 // arrivals in it
	total float64 // of all closed steps
	age   float64 // number of those

	level float64 // EWMA of arrivals a second
	prior float64 // the same of what the profile said: level - prior is how the last minutes differed
	holt  float64 // Holt's level
	trend float64 // a second, a step

	hourSum   float64 // arrivals of this hour, for the profile
	hourSteps float64

	recent         float64        // arrivals a second, of the last ten seconds or so
	recentMs       int64          // as of then
	recentArrivals recentArrivals // each of the last seconds

	past      [pendingForecasts]scoredForecast // forecasts that are not scored yet, by stride
	score     [methods]float64
	square    [methods]float64 // mean of the squared errors
	samples   float64          // that were scored
	swungAway float64          // arrivals a second that a swing has taken from here
}

// scoredForecast is what each method said, and when.
type scoredForecast struct {
	total float64 // Series.total then
	step  int64   // 0: none
	rate  [methods]float32
}

// Add counts n arrivals at a time. What is older than the open step counts in it.
func (s *Series) Add(atMs int64, n float64, p *Profile) {
	s.Advance(atMs, p)
	s.count += n
	s.recent = s.decayedRate(atMs) + n*1000*math.Ln2/recentHalfLife
	s.recentMs = max(s.recentMs, atMs)
	s.recentArrivals.add(atMs, n)
}

// empty says that no arrival was ever seen: there is nothing to forecast from.
func (s *Series) empty() bool { return s.step == 0 }

// Recent is the arrivals a second of the last seconds before a time: it knows of a burst long before the forecast.
func (s *Series) Recent(atMs int64) float64 {
	return max(s.decayedRate(atMs), s.recentArrivals.minRate(atMs))
}

func (s *Series) decayedRate(atMs int64) float64 {
	if atMs <= s.recentMs {
		return s.recent
	}
	return s.recent * math.Exp2(-float64(atMs-s.recentMs)/recentHalfLife)
}

// Advance closes the steps before a time: nothing more than was counted came in them.
func (s *Series) Advance(atMs int64, p *Profile) {
	step := atMs / stepMs
	switch {
	case s.step == 0:
		s.step = step
	case step-s.step > longGap:
		swung := s.swungAway
		*s = Series{step: step, recent: s.recent, recentMs: s.recentMs, score: s.score, square: s.square, samples: s.samples, swungAway: swung}
	}
	for s.step < step {
		s.close(p)
	}
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
	a = max(a, 1/s.age) // at first the mean of all
	s.level += a * (x - s.level)
	s.prior += a * (usual - s.prior)
	ah := max(1-math.Exp2(-stepMs/60_000.0), 1/s.age)
	before := s.holt
	s.holt = ah*x + (1-ah)*(s.holt+damping*s.trend)
	if s.trend = damping*s.trend + trendGain*(s.holt-before-damping*s.trend); s.age == 1 {
		s.trend = 0 // one figure has none
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

// scoreForecasts scores what was forecast a horizon ago, and keeps what is forecast now to be scored then.
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

// rate is the arrivals a second that a method expects over the horizon.
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

// Forecast is the arrivals a second that a method expects over the horizon, and the standard deviation of what it was off
// by, at least what chance alone makes of such a rate.
func (s *Series) Forecast(m Method, p *Profile) (rate, spread float64) {
	rate = s.rate(m, p)
	return rate, math.Sqrt(max(rate/DefaultHorizon.Seconds(), s.square[m]))
}
