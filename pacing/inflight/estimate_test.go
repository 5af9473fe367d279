package inflight

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// campaign is a made-up campaign: ads of a constant price that are charged with a probability,
// after an exponential delay.
type campaign struct {
	name     string
	delay    float64 // mean, seconds
	chance   float64 // that an ad is charged
	reported float64 // expected cost of an ad that servers report, share of the true one
	perTick  float64 // mean number of ads
}

const (
	price = 1000.0 // expected cost of an ad, micros
	tick  = 10 * time.Second
)

// play lets a campaign run for some hours, and calls look after each tick of the last one, with
// what is in flight in truth.
func (c campaign) play(e *Estimate, rng *rand.Rand, hours int, look func(flight, cost, truth, shown float64)) {
	due := map[int]float64{} // charges by tick
	truth := 0.0             // expected cost of the ads that are not charged
	decay := After(tick)
	for now := range hours * 360 {
		traffic := 1 + 0.6*math.Cos(2*math.Pi*float64(now)/8640)
		if now%720 > 600 {
			traffic *= 0.2 // the probability of the campaign changes, too
		}
		truth *= math.Exp(-tick.Seconds() / c.delay)
		ads := rng.NormFloat64()*math.Sqrt(c.perTick*traffic) + c.perTick*traffic
		ads = max(0, math.Round(ads))
		for range int(ads) {
			at := rng.Float64() // within the tick
			delay := c.delay * rng.ExpFloat64() / tick.Seconds()
			if rng.Float64() < c.chance {
				due[now+int(at+delay)] += price / c.chance
			}
			truth += price * math.Exp(-(1-at)*tick.Seconds()/c.delay)
		}
		flight, cost := e.Step(ads*price*c.reported, due[now], &decay)
		delete(due, now)
		if now >= (hours-1)*360 {
			look(flight, cost, truth, ads*price)
		}
	}
}

// TestLearns: after some hours of traffic that changes, the estimate is near to what is in flight
// in truth: also of clicks, of expected costs that are wrong, and if most servers do not report.
func TestLearns(t *testing.T) {
	for n, c := range []campaign{
		{"impressions", 15, 1, 1, 40},
		{"slow impressions", 60, 0.9, 1, 40},
		{"clicks", 120, 0.05, 1, 40},
		{"clicks that are expected too rarely", 120, 0.05, 0.5, 40},
		{"a quarter of the servers", 60, 1, 0.25, 40},
		{"conversions", 900, 0.02, 2, 60},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Estimate
			flight, truth, cost, shown := 0.0, 0.0, 0.0, 0.0
			c.play(&e, rand.New(rand.NewPCG(uint64(n), 1)), 24, func(f, k, in, s float64) {
				flight, truth, cost, shown = flight+f, truth+in, cost+k, shown+s
			})
			t.Logf("in flight: %.3f of the truth; cost: %.3f; delay %s of %.0fs", flight/truth, cost/shown, e.Summary().Delay.Round(time.Second), c.delay)
			if off := flight / truth; off < 0.7 || off > 1.4 {
				t.Errorf("%.2f of what is in flight", off)
			}
			if off := cost / shown; off < 0.85 || off > 1.15 {
				t.Errorf("%.2f of the cost", off)
			}
		})
	}
}

// TestBegins: before anything is charged, the ads that were shown are in flight.
func TestBegins(t *testing.T) {
	var e Estimate
	decay := After(tick)
	for n := range 6 {
		flight, cost := e.Step(1e6, 0, &decay)
		if flight < 0.6e6*float64(n+1) || flight > 1e6*float64(n+1) || cost != 1e6 {
			t.Errorf("%.0f in flight after %d ticks, cost %.0f", flight, n+1, cost)
		}
	}
	e.Begin()
	if flight, cost := e.Step(0, 0, &decay); flight != 0 || cost != 0 {
		t.Errorf("%.0f in flight, cost %.0f after the begin of a day", flight, cost)
	}
}

// TestEnds: what is in flight falls to nothing when no ads are shown any more, also if nothing was
// ever charged.
func TestEnds(t *testing.T) {
	decay := After(tick)
	for _, charged := range []float64{0, 0.5e6, 3e6} {
		var e Estimate
		most := 0.0
		for range 360 {
			most, _ = e.Step(1e6, charged, &decay)
		}
		for range 720 * 3 {
			e.Step(0, 0, &decay)
		}
		if flight, _ := e.Step(0, 0, &decay); flight > most/100 || most == 0 {
			t.Errorf("%.0f are in flight after 6 hours, at first %.0f", flight, most)
		}
	}
}

// TestScale: money in another unit gives the same estimate in that unit.
func TestScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a, b Estimate
	for range 5000 {
		shown, charged, decay := 1e6*rng.ExpFloat64(), 1e6*rng.ExpFloat64(), After(time.Duration(1+rng.IntN(20))*time.Second)
		if rng.IntN(3) == 0 {
			charged = 0
		}
		flight, cost := a.Step(shown, charged, &decay)
		f, c := b.Step(1024*shown, 1024*charged, &decay)
		if f != 1024*flight || c != 1024*cost {
			t.Fatalf("%g and %g, cost %g and %g", flight, f, cost, c)
		}
	}
}

// TestRestore: an estimate that was restored is near to the one before, whatever the size of a
// charge is beside their sum, and continues to learn.
func TestRestore(t *testing.T) {
	c := campaign{"clicks", 160, 0.05, 0.5, 40}
	for _, hours := range []int{1, 24} {
		rng := rand.New(rand.NewPCG(3, 1))
		var e Estimate
		c.play(&e, rng, hours, func(float64, float64, float64, float64) {})
		before := e.Summary()
		r := Restore(before)
		after := r.Summary()
		for _, x := range []struct{ got, want float64 }{
			{after.Flight, before.Flight},
			{after.Ratio, before.Ratio},
			{after.Delay.Seconds(), before.Delay.Seconds()},
			{after.Charged, before.Charged},
			{after.Charge, before.Charge},
		} {
			if x.got < 0.8*x.want || x.got > 1.25*x.want {
				t.Errorf("%+v restored of %+v", after, before)
			}
		}
		for seed := range uint64(4) { // the hours after it, as the estimate before would have them
			going, restored := e, r
			sums := [2]float64{}
			for i, x := range []*Estimate{&going, &restored} {
				c.play(x, rand.New(rand.NewPCG(seed, 7)), 3, func(f, _, _, _ float64) { sums[i] += f })
			}
			if off := sums[1] / sums[0]; off < 0.65 || off > 1.5 {
				t.Errorf("%.2f of the estimate before, 3 h after the restore of %d h", off, hours)
			}
		}
	}
	for _, wrong := range []Summary{{}, {math.NaN(), -1, math.Inf(1), math.NaN(), -1}, {-1, math.MaxInt64, 1e9, -1, math.NaN()}} {
		r := Restore(wrong)
		if s := r.Summary(); s.Flight != 0 || s.Ratio != 1 || s.Delay < shortest || s.Delay > shortest<<(Filters-1) || s.Charged != 0 {
			t.Errorf("%+v restored of %+v", s, wrong)
		}
	}
}

// TestJump: spend that becomes known at once, and is not of ads that were shown, changes little.
func TestJump(t *testing.T) {
	c := campaign{"clicks", 120, 0.05, 1, 40}
	rng := rand.New(rand.NewPCG(4, 1))
	var e Estimate
	c.play(&e, rng, 24, func(float64, float64, float64, float64) {})
	before := e.Summary()
	decay := After(tick)
	e.Step(40*price, before.Charged, &decay)
	e.Step(40*price, 0, &decay)
	after := e.Summary()
	if d := after.Delay.Seconds() / before.Delay.Seconds(); d < 0.6 || d > 1.6 || after.Charge > 3*before.Charge || after.Ratio > 1.2*before.Ratio {
		t.Errorf("%+v after a jump, before %+v", after, before)
	}
}

// FuzzStep: whatever is observed, the estimate is a number, is not negative, and is at most the
// greatest ratio of what was shown on the day.
func FuzzStep(f *testing.F) {
	f.Add([]byte{1, 10, 0, 10, 1, 0, 10, 10, 0, 0, 0, 0})
	f.Add([]byte{200, 255, 255, 255, 10, 254, 0, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		var e Estimate
		day := 0.0
		amount := func(b byte) float64 {
			switch b {
			case 255:
				return math.NaN()
			case 254:
				return math.Inf(1)
			case 253:
				return -1e9
			}
			return math.Pow(1.2, float64(b)) - 1
		}
		for ; len(data) >= 3; data = data[3:] {
			if data[0] == 255 {
				e.Begin()
				day = 0
			}
			shown := amount(data[1])
			day += known(shown)
			decay := After(time.Duration(int(data[0])-10) * 10 * time.Second)
			flight, cost := e.Step(shown, amount(data[2]), &decay)
			if !(flight >= 0 && flight <= MostRatio*day*(1+1e-9)) || !(cost >= 0 && cost <= MostRatio*known(shown)*(1+1e-9)) {
				t.Fatalf("%g in flight of %g, cost %g of %g", flight, day, cost, shown)
			}
			s := e.Summary()
			if s.Delay < shortest || s.Delay > shortest<<(Filters-1) || !(s.Ratio >= 1.0/MostRatio && s.Ratio <= MostRatio) {
				t.Fatalf("%+v", s)
			}
			r := Restore(s)
			if got := r.Summary(); !(got.Flight >= 0 && got.Flight <= 2*MostRatio*MostRatio*day) {
				t.Fatalf("%+v restored of %+v", got, s)
			}
		}
	})
}

// BenchmarkStep is a tick of a campaign.
func BenchmarkStep(b *testing.B) {
	var e Estimate
	decay := After(tick)
	for b.Loop() {
		e.Step(1e6, 1e6, &decay)
	}
}
