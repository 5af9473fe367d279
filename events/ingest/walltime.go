package ingest

import (
	"math"
	"time"
)

// wallTime is a date and time of day without a zone.
type wallTime struct{ year, month, day, hour, min, sec, ms int }

func (t *wallTime) setDate(y, m, d string) bool {
	return setInt(&t.year, y, 1, 9999) && setInt(&t.month, m, 1, 12) && setInt(&t.day, d, 1, 31) && t.day <= daysIn(t.year, t.month)
}

func (t *wallTime) setTime(h, m, s string) bool {
	return setInt(&t.hour, h, 0, 23) && setInt(&t.min, m, 0, 59) && setInt(&t.sec, s, 0, 59)
}

// setFraction parses the fraction of a second, if s begins with a dot, and returns what follows it.
func (t *wallTime) setFraction(s string) (rest string, ok bool) {
	if s == "" || s[0] != '.' {
		return s, true
	}
	i, scale := 1, 100
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		t.ms += int(s[i]-'0') * scale
		scale /= 10
	}
	return s[i:], i > 1
}

// unixMilli converts t, a time in loc, to Unix milliseconds. A local time that daylight saving
// makes ambiguous or skips is resolved as time.Date does.
func (t *wallTime) unixMilli(loc *time.Location) int64 {
	return time.Date(t.year, time.Month(t.month), t.day, t.hour, t.min, t.sec, 0, loc).UnixMilli() + int64(t.ms)
}

// zoneOffset parses Z, +hh, +hhmm or +hh:mm to milliseconds east of UTC.
func zoneOffset(s string) (int64, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	sign := int64(1)
	if s[0] == '-' {
		sign = -1
	}
	s = s[1:]
	var h, m int
	if len(s) < 2 || !setInt(&h, s[:2], 0, 23) {
		return 0, false
	}
	s = s[2:]
	if len(s) == 3 && s[0] == ':' {
		s = s[1:]
	}
	if s != "" && (len(s) != 2 || !setInt(&m, s, 0, 59)) {
		return 0, false
	}
	return sign * int64(h*60+m) * 60_000, true
}

// setInt parses s into to and reports whether the number is between low and high.
func setInt(to *int, s string, low, high int) bool {
	n, ok := digits(s)
	*to = int(n)
	return ok && int(n) >= low && int(n) <= high
}

// digits parses an unsigned decimal number. strconv.ParseInt does not fit: it accepts a sign.
func digits(s string) (int64, bool) {
	var n int64
	for _, ch := range []byte(s) {
		if ch < '0' || ch > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(ch-'0')
	}
	return n, s != ""
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
