package forecast

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The ring gives the rate of a list of all arrivals, in any order of arrival.
func TestRecentArrivalsAgainstList(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var l recentArrivals
		var list []int64
		now, newest := start, int64(0)
		for range 300 {
			now += rng.Int64N(900)
			if rng.IntN(20) == 0 {
				now += rng.Int64N(20_000)
			}
			for range rng.IntN(4) {
				at := now - rng.Int64N(12_000)
				l.add(at, 1)
				list, newest = append(list, at), max(newest, at)
			}
			near(t, "the least rate", l.minRate(now), leastOf(list, now, newest), 1e-9)
		}
	}
	var l recentArrivals
	l.add(-1, 1)
	l.add(-1<<62, 1)
	near(t, "of no time at all", l.minRate(0)+l.minRate(-5), 0, 0)
}

// leastOf is minRate from a list. Arrivals that were older than the ring, or are now, do not count.
func leastOf(list []int64, now, newest int64) (rate float64) {
	for k := range int64(recentBins) {
		from, n := (now/recentBin-k)*recentBin, 0.0
		for _, at := range list {
			if at >= from && at <= now && at/recentBin > newest/recentBin-recentBins {
				n++
			}
		}
		if now-from >= recentBin {
			rate = max(rate, (n-1.5*math.Sqrt(n))*1000/float64(now-from))
		}
	}
	return rate
}

// Half of a burst is visible after one second, and chance is rarely taken for a burst: in fewer
// than two of a thousand seconds the rate is overestimated by a factor of two.
func TestRecentArrivalsDetectBursts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, rate := range []float64{0.2, 1, 5, 20, 100} {
		var l recentArrivals
		samples, wrong, sum := 0, 0, 0.0
		at := float64(start)
		for next := start; next < start+20_000_000; next += 1000 {
			for ; at < float64(next); at += rng.ExpFloat64() * 1000 / rate {
				l.add(int64(at), 1)
			}
			seen := l.minRate(next)
			samples, sum = samples+1, sum+seen
			if seen > 2*rate+2 {
				wrong++
			}
		}
		t.Logf("%v a second: %.2f times it on average; %d of %d samples above twice it", rate, sum/float64(samples)/rate, wrong, samples)
		if wrong > samples/500 || sum/float64(samples) > 1.3*rate {
			t.Errorf("%v a second is taken for bursts: %d of %d samples, %.3g on average", rate, wrong, samples, sum/float64(samples))
		}
	}
	late := 0
	for range 1000 {
		var l recentArrivals
		for at := float64(start); at < float64(start+1000); at += rng.ExpFloat64() * 50 {
			l.add(int64(at), 1)
		}
		if l.minRate(start+1000) < 10 {
			late++
		}
	}
	if late > 100 {
		t.Errorf("%d of 1000 bursts of 20 per second are seen as less than half of it after one second", late)
	}
}
