package plan

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// dayOf returns a day of a shape.
func dayOf(s Shape, micros float64) (d Day) {
	for h, share := range s {
		d.Add(h, share*micros, 60)
	}
	d.Actions = FullActions
	return d
}

func far(a, b Shape) (most float64) {
	for h := range a {
		most = max(most, math.Abs(a[h]-b[h]))
	}
	return most
}

// TestLearn: no day is the parent, one day counts for a quarter, and 14 days for more than four
// fifths. Older days do not count.
func TestLearn(t *testing.T) {
	for n, want := range map[int]float64{0: 0, 1: 0.25, 2: 0.4, 14: 14 / 17.0, 30: 14 / 17.0} {
		days := slices.Repeat([]Day{dayOf(evening(), 1e6)}, n)
		got := Learn(append(slices.Repeat([]Day{dayOf(Uniform(), 5e6)}, max(0, n-MaxDays)), days...), Uniform())
		if weight := (got[20] - Uniform()[20]) / (evening()[20] - Uniform()[20]); math.Abs(weight-want) > 1e-9 {
			t.Errorf("%d days have a weight of %.4f, want %.4f", n, weight, want)
		}
	}
	few := dayOf(evening(), 1e6)
	few.Actions = FullActions / 10
	if got, want := Learn(slices.Repeat([]Day{few}, 10), Uniform()), Learn([]Day{dayOf(evening(), 1e6)}, Uniform()); far(got, want) > 1e-12 {
		t.Errorf("ten days of few actions: %v, one day: %v", got, want)
	}
}

// TestOddDay: a day unlike all others changes nothing if it is the only one, whatever it was.
func TestOddDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, MaxDays-1).Draw(t, "days")
		days := slices.Repeat([]Day{dayOf(evening(), 1e6)}, n+1)
		want := Learn(days, Uniform())
		for h := range hours {
			days[rapid.IntRange(0, 0).Draw(t, "odd")].Hours[h].Micros = rapid.SampledFrom([]float64{0, 1, 1e6, 1e9}).Draw(t, "micros")
		}
		days[0].Hours[3].Micros++ // some spend
		if got := Learn(days, Uniform()); far(got, want) > 1e-12 {
			t.Fatalf("%v with an odd day, %v without", got, want)
		}
	})
	// A mean without the trim is moved by a tenth of the odd day.
	days := slices.Repeat([]Day{dayOf(Uniform(), 1e6)}, 10)
	days[4] = Day{Actions: FullActions}
	for h := range hours {
		days[4].Add(h, 0, 60)
	}
	days[4].Hours[3].Micros = 1e9
	mean := 0.0
	for i := range days {
		rates, _ := days[i].rates(&Shape{3: 1.0 / hours, 4: 1 - 1.0/hours})
		mean += rates[3] / 10
	}
	if got := Learn(days, Uniform())[3]; mean < 1.5/hours || math.Abs(got-1.0/hours) > 1e-12 {
		t.Errorf("%.4f learnt, a mean is %.4f", got, mean)
	}
}

// TestPartOfADay: hours in which a campaign did not run are those of the parent, and hours that
// were there twice, or half, count by their minutes.
func TestPartOfADay(t *testing.T) {
	var half Day
	half.Actions = FullActions
	for h := 12; h < 24; h++ {
		half.Add(h, evening()[h]*1e6, 60)
	}
	half.Hours[13] = Hour{2 * half.Hours[13].Micros, 120}
	half.Hours[14] = Hour{half.Hours[14].Micros / 3, 20}
	got := Learn(slices.Repeat([]Day{half}, MaxDays), evening())
	if far(got, evening()) > 1e-12 {
		t.Errorf("%v, want that of the parent %v", got, evening())
	}
}

// TestLearnProperties: a result is a shape without an hour of 0, does not depend on the unit of
// money or the size of a day, and is what a dumb calculation of it is.
func TestLearnProperties(t *testing.T) {
	micros := rapid.OneOf(rapid.Float64Range(0, 1e9), rapid.SampledFrom([]float64{
		0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
	}))
	rapid.Check(t, func(t *rapid.T) {
		days := make([]Day, rapid.IntRange(0, 16).Draw(t, "days"))
		ordinary := rapid.Bool().Draw(t, "ordinary")
		for i := range days {
			days[i].Actions = rapid.SampledFrom([]float64{0, 24, 240, 1e6, math.NaN(), -1}).Draw(t, "actions")
			for h := range hours {
				v := micros.Draw(t, "micros")
				if ordinary {
					v = rapid.Float64Range(0, 1e9).Draw(t, "ordinary micros")
				}
				days[i].Hours[h] = Hour{v, rapid.SampledFrom([]float64{60, 60, 60, 0, 30, 120}).Draw(t, "minutes")}
			}
		}
		parent := rapid.SampledFrom([]Shape{Uniform(), evening()}).Draw(t, "parent")
		got := Learn(days, parent)
		sum := 0.0
		for _, share := range got {
			if !(share > 0 && share <= 1) {
				t.Fatalf("%v", got)
			}
			sum += share
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("the sum is %v: %v", sum, got)
		}
		if !ordinary {
			return
		}
		if want := dumbLearn(days, parent); far(got, want) > 1e-9 {
			t.Fatalf("%v, want %v", got, want)
		}
		for i := range days {
			factor := rapid.SampledFrom([]float64{1, 1000, 0.01}).Draw(t, "factor")
			for h := range hours {
				days[i].Hours[h].Micros *= factor
			}
		}
		if scaled := Learn(days, parent); far(got, scaled) > 1e-9 {
			t.Fatalf("%v, and %v in other units", got, scaled)
		}
	})
}

// dumbLearn is Learn, hour by hour.
func dumbLearn(days []Day, parent Shape) (s Shape) {
	days = days[max(0, len(days)-14):]
	total := 0.0
	for h := range 24 {
		var list []float64
		weight := 0.0
		for _, d := range days {
			own, of := 0.0, 0.0
			for i, hour := range d.Hours {
				if hour.Minutes > 0 {
					own += 60 * hour.Micros / hour.Minutes
					of += parent[i]
				}
			}
			if d.Hours[h].Minutes == 0 || own == 0 || !(d.Actions > 0) {
				continue
			}
			list = append(list, 60*d.Hours[h].Micros/d.Hours[h].Minutes*of/own)
			weight += min(1, d.Actions/240)
		}
		mean, n, low, high := 0.0, float64(len(list)), math.Inf(1), 0.0
		for _, v := range list {
			mean, low, high = mean+v, min(low, v), max(high, v)
		}
		if n >= 3 {
			mean, n = mean-low-high, n-2
		}
		s[h] = parent[h]
		if n > 0 {
			s[h] = 3/(3+weight)*parent[h] + weight/(3+weight)*mean/n
		}
		total += s[h]
	}
	for h := range s {
		s[h] /= total
	}
	return s
}
