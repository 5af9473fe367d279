package ingest

import (
	"math"
	"time"
)

// clock is a time as written.
type clock struct{ year, month, day, hour, min, sec, ms int }

func (c *clock) date(y, m, d []byte) bool {
	return set(&c.year, y, 1, 9999) && set(&c.month, m, 1, 12) && set(&c.day, d, 1, 31) && c.day <= daysIn(c.year, c.month)
}

func (c *clock) time(h, m, s []byte) bool {
	return set(&c.hour, h, 0, 23) && set(&c.min, m, 0, 59) && set(&c.sec, s, 0, 59)
}

// fraction reads .digits, if there are any, and returns what follows them.
func (c *clock) fraction(b []byte) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '.' {
		return b, true
	}
	i, scale := 1, 100
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		c.ms += int(b[i]-'0') * scale
		scale /= 10
	}
	return b[i:], i > 1
}

// unixMilli places the clock in loc. Of a local time that a change of daylight saving gives twice or never, it takes
// what time.Date takes.
func (c *clock) unixMilli(loc *time.Location) int64 {
	return time.Date(c.year, time.Month(c.month), c.day, c.hour, c.min, c.sec, 0, loc).UnixMilli() + int64(c.ms)
}

// zoneOffset reads Z, +hh, +hhmm or +hh:mm as milliseconds east of UTC.
func zoneOffset(b []byte) (int64, bool) {
	if len(b) == 1 && (b[0] == 'Z' || b[0] == 'z') {
		return 0, true
	}
	if b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	sign := int64(1)
	if b[0] == '-' {
		sign = -1
	}
	b = b[1:]
	var h, m int
	if len(b) < 2 || !set(&h, b[:2], 0, 23) {
		return 0, false
	}
	b = b[2:]
	if len(b) == 3 && b[0] == ':' {
		b = b[1:]
	}
	if len(b) != 0 && (len(b) != 2 || !set(&m, b, 0, 59)) {
		return 0, false
	}
	return sign * int64(h*60+m) * 60_000, true
}

func set(to *int, b []byte, low, high int) bool {
	n, ok := digits(b)
	*to = int(n)
	return ok && int(n) >= low && int(n) <= high
}

// digits reads an unsigned decimal number.
func digits(b []byte) (int64, bool) {
	var n int64
	for _, ch := range b {
		if ch < '0' || ch > '9' || n > (math.MaxInt64-9)/10 {
			return 0, false
		}
		n = n*10 + int64(ch-'0')
	}
	return n, len(b) > 0
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
