package forecast

import (
	"math"
	"testing"
)

const (
	start   int64 = 1_700_000_000_000 // ms
	maxTime int64 = 1 << 52           // ms
)

// fed returns a series that saw rate(t) leases per second for some hours, without noise.
func fed(hours int, rate func(ms int64) float64) (*Series, *Profile, int64) {
	s, p := &Series{}, &Profile{}
	end := start/hourMs*hourMs + int64(hours)*hourMs
	for ms := start / hourMs * hourMs; ms < end; ms += stepMs {
		s.Add(ms, rate(ms)*stepMs/1000, p)
	}
	s.Advance(end, p)
	return s, p, end
}

func daily(ms int64) float64 {
	return 5 * (1 + 0.8*math.Cos(2*math.Pi*float64(ms%86_400_000)/86_400_000))
}

// mean returns the mean of rate over the horizon after a time.
func mean(rate func(int64) float64, ms int64) float64 {
	sum := 0.0
	for i := range horizonSteps {
		sum += rate(ms + i*stepMs)
	}
	return sum / float64(horizonSteps)
}

func near(t *testing.T, what string, got, want, off float64) {
	t.Helper()
	if math.Abs(got-want) > off {
		t.Errorf("%s: %.4g, want %.4g within %.3g", what, got, want, off)
	}
}

// Each method forecasts a constant rate; only Holt follows a ramp; only Seasonal forecasts the turn
// of a daily cycle.
func TestMethods(t *testing.T) {
	s, p, _ := fed(3, func(int64) float64 { return 4 })
	for m := range Method(Methods) {
		rate, spread := s.Forecast(m, p)
		near(t, m.String()+" of a constant", rate, 4, 0.05)
		near(t, m.String()+"'s spread", spread, math.Sqrt(4.0/600), 0.1)
	}
	ramp := func(ms int64) float64 { return float64(ms-start/hourMs*hourMs) / hourMs * 10 } // 10 more an hour
	s, _, end := fed(2, ramp)
	ewma, _ := s.Forecast(EWMA, nil)
	holt, _ := s.Forecast(Holt, nil)
	if want := mean(ramp, end); math.Abs(holt-want) > 0.6*math.Abs(ewma-want) {
		t.Errorf("a ramp to %.3g: Holt %.3g, EWMA %.3g", want, holt, ewma)
	}
	for hour := range 24 {
		s, p, end := fed(24*5+hour, daily)
		ewma, _ := s.Forecast(EWMA, p)
		season, _ := s.Forecast(Seasonal, p)
		want := mean(daily, end)
		near(t, "season", season, want, 0.25)
		if math.Abs(ewma-want) > 0.3 && math.Abs(season-want) > math.Abs(ewma-want) {
			t.Errorf("hour %d, %.3g to come: season %.3g, EWMA %.3g", hour, want, season, ewma)
		}
	}
}

// The method with the lower cost is chosen, after an hour, and does not alternate.
func TestChoice(t *testing.T) {
	s, p := &Series{}, &Profile{}
	now, changes, began := EWMA, 0, start/86_400_000*86_400_000
	for ms := began; ms < began+7*86_400_000; ms += stepMs {
		s.Add(ms, daily(ms)*stepMs/1000, p)
		if m := Choose(now, []*Series{s}); m != now {
			if now, changes = m, changes+1; ms < began+hourMs {
				t.Errorf("another method was chosen after %d s", (ms-began)/1000)
			}
		}
	}
	if now != Seasonal || changes > 8 {
		t.Errorf("%s after a week of the same days, with %d changes", now, changes)
	}
	flat, _, _ := fed(48, func(int64) float64 { return 2 })
	if m := Choose(EWMA, []*Series{flat}); m != EWMA {
		t.Errorf("%s was chosen although all methods are equal", m)
	}
}

// A burst is in the recent rate within seconds, and the forecast's spread grows with its error.
func TestBurst(t *testing.T) {
	s, p, now := fed(2, func(int64) float64 { return 1 })
	for ms := now; ms < now+4000; ms += 100 {
		s.Add(ms, 1, p)
	}
	if r := s.Recent(now + 4000); r < 4 || r > 10 {
		t.Errorf("four seconds into ten times the rate, the recent rate is %.3g", r)
	}
	near(t, "recent, a minute later", s.Recent(now+64_000), 0, 0.1)
}

// A swing moves the forecast at once, conserves the sum, and returns what it moved.
func TestSwing(t *testing.T) {
	a, pa, _ := fed(50, daily)
	b, pb, _ := fed(50, daily)
	for m := range Method(Methods) {
		x, y := *a, *b
		ra, _ := x.Forecast(m, pa)
		rb, _ := y.Forecast(m, pb)
		Swing(&x, &y, 0.4)
		xa, _ := x.Forecast(m, pa)
		xb, _ := y.Forecast(m, pb)
		near(t, m.String()+": the sum", xa+xb, ra+rb, 1e-6)
		near(t, m.String()+": what is left", xa, 0.6*ra, 0.05*ra)
		SwingBack(&x, &y)
		xa, _ = x.Forecast(m, pa)
		near(t, m.String()+": back again", xa, ra, 0.1*ra)
		if x.swungAway != 0 {
			t.Errorf("%s: %v are to be moved back again", m, x.swungAway)
		}
	}
}

// A decoded series continues as the encoded one. A very long time step takes no time.
func TestSeriesIsKept(t *testing.T) {
	s, p, now := fed(60, daily)
	back, err := DecodeSeries(s.Encode(nil))
	if err != nil {
		t.Fatal(err)
	}
	prof, err := DecodeProfile(p.Encode(nil))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Encode(nil)); n != 301 {
		t.Errorf("a series has %d bytes, the comment of Series has 301", n)
	}
	for i := range int64(500) {
		s.Add(now+i*7000, float64(i%5), p)
		back.Add(now+i*7000, float64(i%5), prof)
	}
	for m := range Method(Methods) {
		x, dx := s.Forecast(m, p)
		if y, dy := back.Forecast(m, prof); x != y || dx != dy {
			t.Errorf("%s: %v, %v from the state", m, x, y)
		}
	}
	s.Add(maxTime, 1, p)
	if rate, _ := s.Forecast(EWMA, p); rate != 0 {
		t.Errorf("%v a second after a hundred thousand years", rate)
	}
}

func FuzzDecodeSeries(f *testing.F) {
	s, p, _ := fed(30, daily)
	f.Add(s.Encode(nil), p.Encode(nil))
	f.Add([]byte{}, []byte{})
	f.Add([]byte{1}, []byte{1})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if s, err := DecodeSeries(a); err == nil && len(a) > 0 && string(s.Encode(nil)) != string(a) {
			t.Errorf("%x became %x", a, s.Encode(nil))
		}
		if p, err := DecodeProfile(b); err == nil && string(p.Encode(nil)) != string(b) {
			t.Errorf("%x became %x", b, p.Encode(nil))
		}
	})
}

func BenchmarkSeriesAdd(b *testing.B) {
	s, p := &Series{}, &Profile{}
	at := start
	for b.Loop() {
		at += 50
		s.Add(at, 1, p)
	}
}
