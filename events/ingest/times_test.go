package ingest

import (
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	china := shanghaiZone(t)
	ms := func(y int, m time.Month, d, h, minute, s, milli int, loc *time.Location) int64 {
		return time.Date(y, m, d, h, minute, s, milli*1e6, loc).UnixMilli()
	}
	for _, c := range []struct {
		text string
		want int64 // 0: refused
	}{
		{"2013-06-06 00:00:00", ms(2013, 6, 6, 0, 0, 0, 0, china)},
		{" 2013-06-06 00:00:00 ", ms(2013, 6, 6, 0, 0, 0, 0, china)},
		{"2013-06-06 00:00:00.5", ms(2013, 6, 6, 0, 0, 0, 500, china)},
		{"2019-11-24 00:03:13.442536+00:00", ms(2019, 11, 24, 0, 3, 13, 442, time.UTC)},
		{"2019-11-24T00:03:13Z", ms(2019, 11, 24, 0, 3, 13, 0, time.UTC)},
		{"2019-11-24t00:03:13.999999999z", ms(2019, 11, 24, 0, 3, 13, 999, time.UTC)},
		{"2019-11-24T00:03:13+0530", ms(2019, 11, 23, 18, 33, 13, 0, time.UTC)},
		{"2019-11-24T00:03:13-08", ms(2019, 11, 24, 8, 3, 13, 0, time.UTC)},
		{"2019-11-24T00:03:13", ms(2019, 11, 24, 0, 3, 13, 0, china)},
		{"20130606000104828", ms(2013, 6, 6, 0, 1, 4, 828, china)},
		{"20130606000104", ms(2013, 6, 6, 0, 1, 4, 0, china)},
		{"1384000000", 1384000000000},
		{"1384000000.25", 1384000000250},
		{"1384000000123", 1384000000123},
		{"1384000000123456", 1384000000123},
		{"2012-02-29 00:00:00", ms(2012, 2, 29, 0, 0, 0, 0, china)},
		{"", 0},
		{"0", 0},
		{"-1384000000", 0},
		{"20130606", 0},
		{"1384000000.", 0},
		{".5", 0},
		{"1384000000.2x", 0},
		{"1384000000123456789", 0},
		{"99999999999999999999999", 0},
		{"20139906000104828", 0},
		{"2013060600010482x", 0},
		{"2013-06-06", 0},
		{"2013-02-30 00:00:00", 0},
		{"2013-02-29 00:00:00", 0},
		{"2013-04-31 00:00:00", 0},
		{"1900-02-29 00:00:00", 0},
		{"2013-06-06 24:00:00", 0},
		{"2013-06-06 00:60:00", 0},
		{"2013-06-06 00:00:60", 0},
		{"2013-06-06_00:00:00", 0},
		{"2013-06-06 00:00:00 UTC", 0},
		{"2013-06-06 00:00:00.", 0},
		{"2013-06-06 00:00:00+", 0},
		{"2013-06-06 00:00:00+1", 0},
		{"2013-06-06 00:00:00+01:", 0},
		{"2013-06-06 00:00:00+24:00", 0},
		{"2013-06-06 00:00:00+01:60", 0},
		{"1969-12-31T23:59:59Z", 0},
		{"1970-01-01T00:00:00Z", 0},
		{"9999-12-31 00:00:00", 0},
		{"0000-01-01 00:00:00", 0},
	} {
		got, ok := parseTime(c.text, china)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%q: %d, %v; want %d", c.text, got, ok, c.want)
		}
	}
}

// FuzzTime compares parseTime with time.Parse, which is slow. time.Parse also accepts an hour of
// one digit, several spaces and a comma before the fraction.
func FuzzTime(f *testing.F) {
	for _, s := range []string{"2013-06-06 00:00:00", "2019-11-24T00:03:13.442536+05:30", "1384000000", "20130606000104828", "2019-11-24 00:03:13-03:30"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := parseTime(s, time.UTC)
		if ok && (got <= 0 || got >= maxEventMs) {
			t.Fatalf("%q is %d, outside the calendar", s, got)
		}
		if len(s) > 13 && s[4] == '-' && s[13] != ':' || strings.Contains(s, ",") || strings.Contains(s, "  ") {
			return
		}
		for _, layout := range []string{"2006-01-02 15:04:05", time.RFC3339, "2006-01-02 15:04:05Z07:00", "20060102150405"} {
			at, err := time.Parse(layout, s)
			if err != nil || at.UnixMilli() <= 0 || at.UnixMilli() >= maxEventMs {
				continue
			}
			if !ok || got != at.UnixMilli() {
				t.Fatalf("%q is %d, %v; time.Parse by %q has %d", s, got, ok, layout, at.UnixMilli())
			}
		}
	})
}

func TestParseDay(t *testing.T) {
	for text, want := range map[string]int32{
		"20130606": 20130606, "2013-06-06": 20130606, " 20130606 ": 20130606, "": 0, "2013606": 0, "20130230": 0, "2013/06/06": 0,
		"19691231": 0, "2013-6-006": 0, "abcdefgh": 0,
	} {
		if got, ok := parseDay(text); ok != (want != 0) || ok && got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, ok, want)
		}
	}
}
