package selection

import (
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// reader is a selector of eu with a dataset of each datacentre, evaluated once a second.
type reader struct {
	t        testing.TB
	s        *Selector
	now      time.Time
	datasets map[string]*Dataset
}

func newReader(t testing.TB, ring ...string) *reader {
	r := &reader{t: t, s: newSelector(t, Config{Local: ring[0], Ring: ring}), now: time.UnixMilli(at), datasets: map[string]*Dataset{}}
	for _, dc := range ring {
		d := dataset(dc, 0, 1000, ring...)
		r.datasets[dc] = &d
	}
	return r
}

// lag sets the lag of a dataset in the events of all origins.
func (r *reader) lag(dc string, lag time.Duration) {
	for _, o := range r.datasets[dc].Health.Origins {
		o.WatermarkMs = at - lag.Milliseconds()
	}
}

// expect evaluates n times, and checks that each decision is for dc.
func (r *reader) expect(n int, mode Mode, dc string) (last Decision) {
	r.t.Helper()
	for i := range n {
		var list []Dataset
		for _, d := range r.datasets {
			list = append(list, *d)
		}
		r.now = r.now.Add(time.Second)
		last = r.s.Decide(r.now, list)
		if last.DC != dc || last.Mode != mode {
			r.t.Fatalf("evaluation %d: %s %q (%s), want %s %q", i+1, last.Mode, last.DC, last.Reason, mode, dc)
		}
		if mode == Normal && !last.Shard.Datasets[r.s.now].Candidate {
			r.t.Fatalf("%s was chosen and is stale", dc)
		}
	}
	return last
}

func (r *reader) reason(d Decision, want string) {
	r.t.Helper()
	if d.Reason != want {
		r.t.Errorf("reason %q, want %q", d.Reason, want)
	}
}

// TestLeaveAndReturn: a dataset is left after the second bad evaluation in a row, and the reader's
// own is chosen again when it has been healthy for 30 s.
func TestLeaveAndReturn(t *testing.T) {
	r := newReader(t, "eu", "us", "ap")
	d := r.expect(1, Normal, "eu")
	r.reason(d, "eu is the own datacentre")
	if !d.Switched() {
		t.Error("the first choice was not reported")
	}
	for range 5 { // one bad evaluation is not enough
		r.lag("eu", 6*time.Second)
		r.expect(1, Normal, "eu")
		r.lag("eu", 0)
		if d := r.expect(1, Normal, "eu"); d.Switched() {
			t.Error("reported a switch")
		}
	}
	r.lag("eu", 7200*time.Millisecond)
	r.expect(1, Normal, "eu")
	d = r.expect(1, Normal, "us")
	r.reason(d, "eu lags by 7.2 s in the events of eu")
	if d.From != "eu" || !d.Switched() {
		t.Errorf("from %q", d.From)
	}
	d = r.expect(10, Normal, "us")
	r.reason(d, "eu lags by 7.2 s in the events of eu")
	r.lag("eu", 0)
	r.expect(29, Normal, "us")
	r.lag("eu", 6*time.Second) // the 30 s begin again
	r.expect(1, Normal, "us")
	r.lag("eu", 0)
	r.expect(30, Normal, "us")
	r.reason(r.expect(1, Normal, "eu"), "eu has been healthy for 30s")
}

// TestChosenRemoteFails: a remote dataset is left for the reader's own at once if that is healthy,
// and otherwise for the next healthy one, and not for another healthy remote one.
func TestChosenRemoteFails(t *testing.T) {
	r := newReader(t, "eu", "us", "ap")
	r.lag("eu", 9*time.Second)
	r.lag("us", 9*time.Second)
	r.expect(1, Normal, "ap")
	r.lag("us", 0) // us is before ap in the ring
	r.expect(60, Normal, "ap")
	r.lag("ap", 9*time.Second)
	r.expect(1, Normal, "ap")
	r.expect(1, Normal, "us")
	r.lag("eu", 0)
	r.expect(5, Normal, "us")
	r.lag("us", 9*time.Second)
	r.expect(1, Normal, "us")
	r.expect(1, Normal, "eu")
}

// TestLostRecordsDoNotFlap: a dataset is left for its lost records alone only when another one has
// been better for 30 s. Another one that is now and then late changes nothing.
func TestLostRecordsDoNotFlap(t *testing.T) {
	r := newReader(t, "eu", "us")
	r.expect(1, Normal, "eu")
	r.datasets["eu"].Health.Origins[0].Lost = 5
	for range 20 {
		r.expect(10, Normal, "eu")
		r.lag("us", 6*time.Second)
		r.expect(3, Normal, "eu")
		r.lag("us", 0)
	}
	r.expect(29, Normal, "eu")
	r.reason(r.expect(1, Normal, "us"), "eu has lost 5 records, and us 0")
	r.expect(100, Normal, "us")
}

// TestNoneHealthy: of datasets that are not healthy another one is chosen only if it misses clearly
// less.
func TestNoneHealthy(t *testing.T) {
	r := newReader(t, "eu", "us")
	one := func(dc, origin string, lag time.Duration) {
		for _, o := range r.datasets[dc].Health.Origins {
			if o.Dc == origin {
				o.WatermarkMs = at - lag.Milliseconds()
			}
		}
	}
	r.expect(1, Normal, "eu")
	for range 20 { // each does not hear of the other; the lags differ by chance
		one("eu", "us", 10*time.Second)
		one("us", "eu", 9*time.Second)
		r.expect(5, Normal, "eu")
		one("us", "eu", 11*time.Second)
		r.expect(5, Normal, "eu")
	}
	one("eu", "us", 16*time.Second)
	r.expect(1, Normal, "eu")
	r.reason(r.expect(1, Normal, "us"), "eu lags by 16.0 s in the events of us, and us misses less")
}

// TestStale: datasets whose health records are old are not chosen. Without any other one the mode
// and the reason report it.
func TestStale(t *testing.T) {
	r := newReader(t, "eu", "us")
	eu, us := r.datasets["eu"], r.datasets["us"]
	r.expect(3, Normal, "eu")
	eu.Age = 30 * time.Second
	r.reason(r.expect(1, Normal, "us"), "the health record of eu is 30.0 s old")
	eu.Health, us.Age = nil, 29*time.Second
	r.expect(3, Normal, "us")
	us.Age = 30 * time.Second
	d := r.expect(1, Degraded, "")
	r.reason(d, "the newest health record is of us, 30.0 s old: datasets are stale after 30s")
	if d.From != "us" || !d.Switched() {
		t.Errorf("from %q", d.From)
	}
	us.Age = 599 * time.Second
	r.expect(3, Degraded, "")
	us.Age = 10 * time.Minute
	r.expect(3, FailSafe, "")
	us.Health = nil
	r.reason(r.expect(1, FailSafe, ""), "no health record of any dataset is known")
	*us = dataset("us", 0, 1000, "eu", "us")
	r.reason(r.expect(1, Normal, "us"), "no health record of eu is known")
	*eu = dataset("eu", 0, 1000, "eu", "us")
	r.expect(30, Normal, "us")
	r.expect(1, Normal, "eu")
}

// TestClockSetBack: the wait for the return begins again, and does not last for the time by which
// the clock was set back.
func TestClockSetBack(t *testing.T) {
	r := newReader(t, "eu", "us")
	r.lag("eu", 9*time.Second)
	r.expect(1, Normal, "us")
	r.lag("eu", 0)
	r.expect(20, Normal, "us")
	r.now = r.now.Add(-time.Hour)
	r.expect(30, Normal, "us")
	r.expect(1, Normal, "eu")
}

// FuzzDecide: no health record makes the selector choose one that is stale, or panic.
func FuzzDecide(f *testing.F) {
	f.Add(int64(1), uint64(2), int64(3), uint64(4), uint8(5), uint8(6), "us")
	f.Add(int64(-1), uint64(1<<63), int64(1)<<62, uint64(1<<63), uint8(200), uint8(0), "")
	f.Fuzz(func(t *testing.T, w1 int64, c1 uint64, w2 int64, c2 uint64, age1, age2 uint8, origin string) {
		s := newSelector(t, Config{Local: "eu", Ring: []string{"eu", "us"}})
		of := func(writer string, w int64, c uint64, age uint8) Dataset {
			return Dataset{Age: time.Duration(age) * time.Second, Health: &eventspb.SpendHistogram{WriterDc: writer, Origins: []*eventspb.OriginHealth{
				{Dc: origin, WatermarkMs: w, Count_60S: c, Lost: c}, {Dc: "eu", WatermarkMs: w / 2, Count_60S: c}, nil,
			}}}
		}
		for n := range 4 {
			d := s.Decide(time.UnixMilli(at+int64(n)*1000), []Dataset{of("eu", w1, c1, age1), of("us", w2, c2, age2)})
			usable := age1 < 30 || age2 < 30
			if usable != (d.Mode == Normal) || (d.DC != "") != usable || d.Reason == "" {
				t.Fatalf("ages %d and %d: %+v", age1, age2, d)
			}
			if d.DC == "eu" && age1 >= 30 || d.DC == "us" && age2 >= 30 {
				t.Fatalf("%s is stale", d.DC)
			}
		}
	})
}
