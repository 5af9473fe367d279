package plan

import (
	"fmt"
	"math"
	"testing"
	"time"
	_ "time/tzdata" // for machines without zone files

	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
)

const hourMs = 3_600_000

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// zones are of all continents, with changes of the clock at midnight, at the half hour and over
// midnight, and without any.
func zones() []string {
	return []string{
		"UTC", "America/New_York", "America/Chicago", "America/Denver", "America/Los_Angeles", "America/Anchorage", "America/Adak",
		"America/Phoenix", "America/St_Johns", "America/Halifax", "America/Sao_Paulo", "America/Santiago", "America/Asuncion",
		"America/Havana", "America/Caracas", "America/Mexico_City", "America/Argentina/Buenos_Aires", "America/Godthab", "Atlantic/Azores",
		"Africa/Cairo", "Africa/Casablanca", "Africa/Lagos", "Africa/Johannesburg", "Europe/London", "Europe/Lisbon", "Europe/Berlin",
		"Europe/Helsinki", "Europe/Istanbul", "Europe/Moscow", "Asia/Beirut", "Asia/Amman", "Asia/Gaza", "Asia/Tehran", "Asia/Kabul",
		"Asia/Karachi", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Dhaka", "Asia/Shanghai", "Asia/Pyongyang", "Asia/Tokyo", "Australia/Sydney",
		"Australia/Adelaide", "Australia/Lord_Howe", "Australia/Eucla", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Apia",
		"Pacific/Kiritimati", "Pacific/Norfolk", "Antarctica/Troll",
	}
}

// changes returns the days of the years 2000 to 2037 on which the clocks of a zone were changed,
// and two days more: Samoa left one of them out.
func changes(loc *time.Location) (days []events.Day) {
	days = append(days, 20260615, 20111230)
	for at := time.Date(2000, 1, 1, 0, 0, 0, 0, loc); ; {
		_, at = at.ZoneBounds()
		if at.IsZero() || at.Year() > 2037 {
			return days
		}
		days = append(days, events.DayOf(at.UnixMilli()-1, loc), events.DayOf(at.UnixMilli(), loc))
	}
}

func following(day events.Day) events.Day {
	t, _ := time.Parse(time.DateOnly, day.String())
	return events.DayOf(t.AddDate(0, 0, 1).UnixMilli(), time.UTC)
}

// TestZones: in every zone and at every change of its clock, days follow each other, have the times
// that events.DayOf gives to them, and their plan is a share that grows from 0 to 1.
func TestZones(t *testing.T) {
	lengths := map[float64]int{}
	for _, name := range zones() {
		loc := location(t, name)
		for _, day := range changes(loc) {
			w, ok := DayWindow(day, loc)
			after, ok2 := DayWindow(following(day), loc)
			if !ok || !ok2 || w.EndMs != after.BeginMs || w.EndMs < w.BeginMs {
				t.Fatalf("%s, %s: %v and then %v", name, day, w, after)
			}
			lengths[float64(w.EndMs-w.BeginMs)/hourMs]++
			for ms := w.BeginMs; ms < w.EndMs; ms += 15 * 60_000 {
				minute := name == "America/St_Johns" && day < 20120000 // set back at 00:01: see DayWindow
				if got := events.DayOf(ms, loc); got != day && !minute {
					t.Fatalf("%s, %s: %s at %s", name, day, got, time.UnixMilli(ms).In(loc))
				}
			}
			p := New(evening(), w, Config{Location: loc})
			last := 0.0
			for ms := w.BeginMs; ms <= w.EndMs; ms += 7 * 60_000 {
				share := p.Share(ms)
				if share < last || share > 1 || (share == 1) != (ms >= p.FinishMs()) || (share == 0) != (ms == w.BeginMs && !w.Empty()) {
					t.Fatalf("%s, %s: share %v after %v at %s", name, day, share, last, time.UnixMilli(ms).In(loc))
				}
				last = share
			}
		}
	}
	for _, want := range []float64{0, 22, 23, 23.5, 24, 24.5, 25, 26} {
		if lengths[want] == 0 {
			t.Errorf("no day of %g hours: %v", want, lengths)
		}
	}
}

// TestDayWindow: days whose midnight is not there, is there twice, or which are not there.
func TestDayWindow(t *testing.T) {
	for _, c := range []struct {
		zone  string
		day   events.Day
		begin string
		hours float64
	}{
		{"Europe/Berlin", 20260329, "2026-03-28T23:00:00Z", 23},
		{"Europe/Berlin", 20261025, "2026-10-24T22:00:00Z", 25},
		{"America/Sao_Paulo", 20181104, "2018-11-04T03:00:00Z", 23}, // begins at 01:00
		{"America/Sao_Paulo", 20180217, "2018-02-17T02:00:00Z", 25}, // the hour from 23:00 is there twice
		{"America/Havana", 20261101, "2026-11-01T04:00:00Z", 25},    // the hour from 00:00 is there twice
		{"America/St_Johns", 20101106, "2010-11-06T02:30:00Z", 25},  // set back at 00:01 of the next day
		{"America/St_Johns", 20101107, "2010-11-07T03:30:00Z", 24},
		{"Australia/Lord_Howe", 20261004, "2026-10-03T13:30:00Z", 23.5},
		{"Asia/Kathmandu", 20261126, "2026-11-25T18:15:00Z", 24},
		{"Pacific/Apia", 20111229, "2011-12-29T10:00:00Z", 24},
		{"Pacific/Apia", 20111230, "2011-12-30T10:00:00Z", 0}, // left out
		{"UTC", 99991231, "9999-12-31T00:00:00Z", 24},
	} {
		w, ok := DayWindow(c.day, location(t, c.zone))
		begin := time.UnixMilli(w.BeginMs).UTC().Format(time.RFC3339)
		if !ok || begin != c.begin || float64(w.EndMs-w.BeginMs) != c.hours*hourMs {
			t.Errorf("%s, %s: from %s for %g h", c.zone, c.day, begin, float64(w.EndMs-w.BeginMs)/hourMs)
		}
	}
	for _, day := range []events.Day{0, 20260230, 20261301, -1} {
		if w, ok := DayWindow(day, time.UTC); ok || w != (Window{}) {
			t.Errorf("%d is a day: %v", day, w)
		}
	}
}

// TestDayFromUTC: a plan by the day of UTC is wrong by the distance of the zone.
func TestDayFromUTC(t *testing.T) {
	loc := location(t, "America/New_York")
	right, _ := DayWindow(20261126, loc)
	wrong, _ := DayWindow(20261126, time.UTC)
	at := right.BeginMs + 18*hourMs
	p, bad := New(evening(), right, Config{Location: loc}), New(evening(), wrong, Config{})
	for _, c := range []struct {
		plan Plan
		want bool
	}{{p, true}, {bad, false}} {
		// The evening, from 18 h on, has half of the spend of 24 hours, of which the last hour is
		// cut.
		if got := math.Abs(c.plan.Share(at)-6/11.0) < 1e-9; got != c.want {
			t.Errorf("share %.4f at 18 h", c.plan.Share(at))
		}
	}
}

// evening is a shape of which half is from 18 h on.
func evening() (s Shape) {
	for h := range s {
		s[h] = 0.5 / 18
		if h >= 18 {
			s[h] = 0.5 / 6
		}
	}
	return s
}

// TestShare: a dumb sum of minutes, by the hour of the local clock, gives the same plan, for
// windows of any length.
func TestShare(t *testing.T) {
	locations := map[string]*time.Location{}
	for _, name := range zones() {
		locations[name] = location(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		loc := locations[rapid.SampledFrom(zones()).Draw(t, "zone")]
		w, _ := DayWindow(rapid.SampledFrom(changes(loc)).Draw(t, "day"), loc)
		if rapid.Bool().Draw(t, "flight") && !w.Empty() {
			from := w.BeginMs + 60_000*rapid.Int64Range(-100, 1500).Draw(t, "from")
			w = w.Cut(Window{from, from + 60_000*rapid.Int64Range(0, 1500).Draw(t, "minutes")})
		}
		lead := 2 * time.Minute * time.Duration(rapid.IntRange(-1, 100).Draw(t, "lead"))
		var s Shape
		for h := range s {
			s[h] = rapid.SampledFrom([]float64{0, 1, 1, 2, 100}).Draw(t, fmt.Sprint(h))
		}
		p := New(s, w, Config{Location: loc, Lead: lead})
		if w.Empty() {
			if p.Share(w.BeginMs) != 1 || p.Share(w.BeginMs-1) != 0 {
				t.Fatalf("share %v of an empty window", p.Share(w.BeginMs))
			}
			return
		}
		if err := dumbShare(p, w, &s, Config{Location: loc, Lead: lead}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestShareOnChanges: the same where clocks are changed within an hour, by half an hour, or twice.
func TestShareOnChanges(t *testing.T) {
	for _, c := range []struct {
		zone string
		days []events.Day
	}{
		{"America/St_Johns", []events.Day{20100314, 20101106, 20101107}}, // at 00:01
		{"Australia/Lord_Howe", []events.Day{20260405, 20261004}},
		{"Antarctica/Troll", []events.Day{20260329, 20261025}},
		{"Africa/Casablanca", []events.Day{20260215, 20260322}},
	} {
		loc := location(t, c.zone)
		for _, day := range c.days {
			w, _ := DayWindow(day, loc)
			var s Shape
			for h := range s {
				s[h] = float64(1 + h*h)
			}
			if err := dumbShare(New(s, w, Config{Location: loc}), w, &s, Config{Location: loc}); err != nil {
				t.Errorf("%s, %s: %v", c.zone, day, err)
			}
		}
	}
}

// dumbShare compares a plan with a sum of half minutes.
func dumbShare(p Plan, w Window, s *Shape, cfg Config) error {
	if cfg.Lead == 0 {
		cfg.Lead = time.Hour
	}
	finish := w.EndMs - min(max(cfg.Lead.Milliseconds(), 0), (w.EndMs-w.BeginMs)/2)
	sums := []float64{0}
	for ms := w.BeginMs; ms < finish; ms += 30_000 {
		sums = append(sums, sums[len(sums)-1]+s[time.UnixMilli(ms).In(cfg.Location).Hour()])
	}
	whole := sums[len(sums)-1]
	for i, sum := range sums {
		want := sum / whole
		if whole == 0 {
			want = float64(i) / float64(len(sums)-1)
		}
		if ms := w.BeginMs + 30_000*int64(i); math.Abs(p.Share(ms)-want) > 1e-9 {
			return fmt.Errorf("share %v at %s, want %v", p.Share(ms), time.UnixMilli(ms).In(cfg.Location), want)
		}
	}
	if p.Share(w.BeginMs) != 0 || p.Share(finish) != 1 || p.FinishMs() != finish {
		return fmt.Errorf("share %v to %v, %v to %d", p.Share(w.BeginMs), p.Share(finish), w, finish)
	}
	return nil
}

// TestUseless: shapes without a sum give the uniform plan.
func TestUseless(t *testing.T) {
	w := Window{0, 24 * hourMs}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		var s Shape
		for h := range s {
			s[h] = v
		}
		p := New(s, w, Config{})
		if got := p.Share(23 * hourMs / 2); math.Abs(got-0.5) > 1e-12 || p.Share(math.MaxInt64) != 1 || p.Share(math.MinInt64) != 0 {
			t.Errorf("share %v by a shape of %v", got, v)
		}
	}
}
