package events

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func location(t testing.TB, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("this machine has no time zone data: %v", err)
	}
	return loc
}

func TestUTCDay(t *testing.T) {
	for ms, want := range map[int64]Day{
		0: 19700101, msPerDay - 1: 19700101, msPerDay: 19700102, 1384000000000: 20131109,
		951_782_400_000: 20000229, 951_868_800_000: 20000301, // a leap day by the rule of 400 years
		4_107_456_000_000: 21000227 + 1, 4_107_542_400_000: 21000301, // no leap day by the rule of 100 years
		maxDayMs: 99991231, maxDayMs + 1: 0, -1: 0, math.MinInt64: 0, math.MaxInt64: 0,
	} {
		if got := UTCDay(ms); got != want || (got != 0) != got.Valid() {
			t.Errorf("UTCDay(%d) = %v, want %v", ms, got, want)
		}
	}
}

// TestUTCDayEveryDay compares the first and last millisecond of every day of 400 years, after which
// the calendar repeats, with package time.
func TestUTCDayEveryDay(t *testing.T) {
	at := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 146_097 {
		ms, want := at.UnixMilli(), dayOf(at)
		if UTCDay(ms) != want || UTCDay(ms+msPerDay-1) != want || !want.Valid() {
			t.Fatalf("%v: %v and %v, want %v", at, UTCDay(ms), UTCDay(ms+msPerDay-1), want)
		}
		at = at.AddDate(0, 0, 1)
	}
}

func TestUTCDayRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-msPerDay, maxDayMs+msPerDay).Draw(t, "ms")
		if got, want := UTCDay(ms), DayOf(ms, time.UTC); got != want {
			t.Fatalf("UTCDay(%d) = %v, package time has %v", ms, got, want)
		}
	})
	var day Day
	if n := testing.AllocsPerRun(100, func() { day = UTCDay(1384000000000) }); n != 0 || day != 20131109 {
		t.Errorf("%v allocations for %v", n, day)
	}
}

// TestDayOfAcrossClockChanges: the days on which clocks change have 23 or 25 hours, and DayOf gives
// each of these hours to its own day.
func TestDayOfAcrossClockChanges(t *testing.T) {
	for _, c := range []struct {
		zone  string
		day   Day
		hours int
	}{
		{"Europe/Berlin", 20260329, 23},
		{"Europe/Berlin", 20261025, 25},
		{"Europe/Berlin", 20260615, 24},
		{"America/New_York", 20260308, 23},
		{"America/New_York", 20261101, 25},
		{"America/Sao_Paulo", 20181104, 23}, // the clock skipped midnight: the day began at 01:00
		{"Asia/Shanghai", 20130606, 24},
		{"Asia/Kathmandu", 20260329, 24},
		{"Pacific/Apia", 20111229, 24},
	} {
		loc := location(t, c.zone)
		y, m, d := int(c.day/10_000), time.Month(c.day/100%100), int(c.day%100)
		from := time.Date(y, m, d-1, 0, 0, 0, 0, loc).UnixMilli()
		minutes := 0
		last := Day(0)
		for i := range int64(4 * 24 * 60) {
			day := DayOf(from+i*60_000, loc)
			if day < last {
				t.Fatalf("%s: %v after %v", c.zone, day, last)
			}
			if last = day; day == c.day {
				minutes++
			}
		}
		if minutes != c.hours*60 {
			t.Errorf("%s %v has %d minutes, want %d hours", c.zone, c.day, minutes, c.hours)
		}
	}
	// Samoa crossed the date line: it had no 30 December 2011.
	apia := location(t, "Pacific/Apia")
	end := time.Date(2011, 12, 29, 23, 59, 59, 999e6, apia).UnixMilli()
	if a, b := DayOf(end, apia), DayOf(end+1, apia); a != 20111229 || b != 20111231 {
		t.Errorf("Apia: %v is followed by %v", a, b)
	}
}

func TestDayOfBounds(t *testing.T) {
	west, east := time.FixedZone("west", -3600), time.FixedZone("east", 3600)
	if d := DayOf(0, west); d != 0 {
		t.Errorf("1969-12-31 is %v", d)
	}
	if d := DayOf(maxDayMs, east); d != 0 {
		t.Errorf("10000-01-01 is %v", d)
	}
	if d := DayOf(1370448000000, location(t, "Asia/Shanghai")); d != 20130606 {
		t.Errorf("2013-06-06 00:00 in Shanghai is %v", d)
	}
}

func TestParseDay(t *testing.T) {
	for s, want := range map[string]Day{"2013-06-06": 20130606, "1970-01-01": 19700101, "9999-12-31": 99991231, "2024-02-29": 20240229} {
		if d, err := ParseDay(s); err != nil || d != want || d.String() != s {
			t.Errorf("%s: %v, %v", s, d, err)
		}
	}
	for _, s := range []string{
		"", "2013-6-6", "20130606", "2013-02-29", "2100-02-29", "2013-13-01", "2013-00-10", "2013-01-00", "2013-04-31",
		"1969-12-31", "0000-01-01", "2013-06-06 ", "2013-06-06T00:00:00Z", "heute",
	} {
		if d, err := ParseDay(s); err == nil || d != 0 {
			t.Errorf("%q: %v, %v", s, d, err)
		}
	}
}

// TestDayValidRandom: a day is valid if and only if package time writes it and reads it back
// unchanged.
func TestDayValidRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Day(rapid.OneOf(rapid.Int32(), rapid.Int32Range(19690000, 20501399), rapid.Int32Range(99990000, 100020000)).Draw(t, "day"))
		back, err := ParseDay(fmt.Sprintf("%04d-%02d-%02d", d/10_000, d/100%100, d%100))
		if d.Valid() != (err == nil && back == d) {
			t.Fatalf("%d: valid %v, package time has %v, %v", int32(d), d.Valid(), back, err)
		}
		if d.Valid() {
			if back, err := ParseDay(d.String()); err != nil || back != d {
				t.Fatalf("%d is written %q and read as %v, %v", int32(d), d, back, err)
			}
		}
	})
	for d, want := range map[Day]string{0: "", 20130231: "20130231", -1: "-1"} {
		if d.String() != want || d.Valid() {
			t.Errorf("%d: %q, valid %v", int32(d), d, d.Valid())
		}
	}
}

func BenchmarkUTCDay(b *testing.B) {
	b.ReportAllocs()
	for ms := int64(1384000000000); b.Loop(); ms += 977 {
		UTCDay(ms)
	}
}
