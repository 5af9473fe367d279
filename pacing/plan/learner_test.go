package plan

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestLearner: n equal days count n / (n + 3), as with Learn, whatever their spend is. Later a new
// shape replaces an old one, and one odd day changes little.
func TestLearner(t *testing.T) {
	var l Learner
	if l.Shape() != Uniform() {
		t.Errorf("the zero value has %v", l.Shape())
	}
	var days []Day
	for n := range 11 {
		d := dayOf(evening(), math.Pow(10, float64(n)))
		days = append(days, d)
		l.Learn(&d)
		want := Learn(days, Uniform())
		for h, got := range l.Shape() {
			if math.Abs(got-want[h]) > 1e-6 {
				t.Fatalf("after %d days hour %d is %g, want %g", n+1, h, got, want[h])
			}
		}
	}
	known := l.Shape()
	odd := Shape{3: 1}
	strange := dayOf(odd, 1)
	l.Learn(&strange)
	for h, got := range l.Shape() {
		if ratio := got / known[h]; ratio < 0.9 || ratio > 1.3 {
			t.Errorf("one odd day changes hour %d by the factor %.2f", h, ratio)
		}
	}
	var night Shape
	for h := range night {
		night[h] = known[(h+12)%24]
	}
	for range 60 {
		d := dayOf(night, 1)
		l.Learn(&d)
	}
	for h, got := range l.Shape() {
		if ratio := got / night[h]; ratio < 0.95 || ratio > 1.05 {
			t.Errorf("after 60 days of another shape hour %d is %.2f of it", h, ratio)
		}
	}
}

// TestLearnerLacks: days without spend, and with no action, are left out, and so are the hours that
// are not known. A day of few actions counts as a part of one.
func TestLearnerLacks(t *testing.T) {
	var l Learner
	l.Learn(&Day{Actions: FullActions})
	l.Learn(&Day{Hours: dayOf(evening(), 1).Hours})
	if l.Days != 0 {
		t.Errorf("%g days are learnt from nothing", l.Days)
	}
	few := dayOf(evening(), 1)
	few.Actions /= 2
	if l.Learn(&few); l.Days != 0.5 {
		t.Errorf("half a day counts %g", l.Days)
	}
	before := l.Shape()
	days := l.Days
	half := dayOf(evening(), 1)
	for h := range 12 {
		half.Hours[h] = Hour{}
	}
	l.Learn(&half)
	for h := range 12 {
		if ratio := l.Shape()[h] / before[h]; math.Abs(ratio-1) > 0.01 {
			t.Errorf("hour %d, which is not known, changes by the factor %.3f", h, ratio)
		}
	}
	if l.Days != days+0.5 {
		t.Errorf("a day of which 12 hours are known counts %g", l.Days-days)
	}
	before = l.Shape()
	tick := dayOf(evening(), 1)
	for h := range tick.Hours {
		tick.Hours[h].Micros *= 100 * float64(h)
		tick.Hours[h].Minutes = 1.0 / 6
	}
	l.Learn(&tick)
	for h, share := range l.Shape() {
		if ratio := share / before[h]; math.Abs(ratio-1) > 0.01 {
			t.Errorf("ten seconds change hour %d by the factor %.3f", h, ratio)
		}
	}
}

// TestLearnerShape: whatever days there are, all hours are above 0, their sum is 1, and a stored
// learner continues alike.
func TestLearnerShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l Learner
		for range rapid.IntRange(1, 40).Draw(t, "days") {
			d := &Day{Actions: rapid.Float64Range(-1, 500).Draw(t, "actions")}
			for h := range d.Hours {
				d.Hours[h] = Hour{rapid.Float64().Draw(t, "micros"), rapid.Float64Range(-1, 120).Draw(t, "minutes")}
			}
			other := RestoreLearner(l.Shape(), l.Days)
			l.Learn(d)
			other.Learn(d)
			sum := 0.0
			for h, share := range l.Shape() {
				sum += share
				if !(share > 0) || share > 1 || share != other.Shape()[h] || l.Days > 0 && share != float64(float32(share)) {
					t.Fatalf("hour %d: %g, and %g of a stored learner", h, share, other.Shape()[h])
				}
			}
			if math.Abs(sum-1) > 1e-5 || l.Days > MaxDays-credibility || l.Days != other.Days {
				t.Fatalf("sum %g, %g and %g days", sum, l.Days, other.Days)
			}
		}
	})
	if l := RestoreLearner(evening(), math.NaN()); l.Days != 0 {
		t.Errorf("a learner of NaN days: %v", l)
	}
	for _, share := range []float64{0, -1, 0.5, math.NaN(), math.Inf(1)} {
		bad := evening()
		if bad[3] = share; RestoreLearner(bad, 3).Days != 0 {
			t.Errorf("a learner of %v", bad)
		}
	}
}
