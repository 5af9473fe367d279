package backtest

import (
	"math"
	"time"
)

const day = 1440 // minutes

// Daily returns the demand of three regions for some days, each with its own daily cycle.
func Daily(days int) []Curve {
	names, base, peak := []string{"us-east-1", "us-west-2", "eu-west-1"}, []float64{6, 2.4, 3.2}, []float64{19, 22, 12}
	curves := make([]Curve, len(names))
	for r := range curves {
		c := &curves[r]
		*c = Curve{Region: names[r], Start: time.Unix(0, 0).UTC(), Step: time.Minute, Rate: make([]float64, days*day)}
		for m := range c.Rate {
			c.Rate[m] = base[r] * (1 + 0.6*math.Cos(2*math.Pi*(float64(m%day)/60-peak[r])/24))
		}
	}
	return curves
}

// Synthetic returns Daily with two half-hour spikes a day in each region from the second day on. On
// the fourth day the first region's traffic moves to the second for an hour.
func Synthetic(days int, seed uint64) []Curve {
	rng := draws(seed)
	curves := Daily(days)
	for r := range curves {
		c := &curves[r]
		for d := 1; d < days; d++ {
			for range 2 {
				at, times := d*day+rng.below(day), 1.5+2*rng.share()
				for m := at; m < min(at+30, len(c.Rate)); m++ {
					c.Rate[m] *= times
				}
			}
		}
	}
	swing := 3*day + 18*60
	for m := swing; m < min(swing+60, days*day); m++ {
		part := min(1, float64(m-swing+1)/2)
		curves[1].Rate[m] += curves[0].Rate[m] * part
		curves[0].Rate[m] *= 1 - part
	}
	return curves
}
