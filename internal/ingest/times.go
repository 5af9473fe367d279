package ingest

import (
	"bytes"
	"time"

	"github.com/weirhq/weir/events"
)

// Numbers are taken as Unix times by their magnitude. What lies between the ranges is either a date written as digits
// or too early to be an ad event, and guessing there would put money on a wrong day.
const (
	minUnixSeconds = 1e8 // March 1973
	endUnixSeconds = 1e11
	endUnixMillis  = 1e13 // the year 2286
	minUnixMicros  = 1e14 // March 1973
	endUnixMicros  = 1e16
)

// parseTime reads RFC 3339, the same with a space in place of the T and without a zone (then it is local to loc),
// Unix seconds with a fraction or none, milliseconds and microseconds, and yyyyMMddHHmmss[SSS] in loc. It returns Unix
// milliseconds, rounded down; false for everything else and for what lies before 1970 or after 9999.
func parseTime(b []byte, loc *time.Location) (ms int64, ok bool) {
	b = bytes.TrimSpace(b)
	if len(b) >= len("2006-01-02") && b[4] == '-' {
		ms, ok = parseDateTime(b, loc)
	} else {
		ms, ok = parseNumeric(b, loc)
	}
	return ms, ok && ms > 0 && ms < maxEventMs
}

// maxEventMs is the end of the year 9998 in every zone: the last one whose days fit YYYYMMDD.
const maxEventMs = 253370764800000

func parseDateTime(b []byte, loc *time.Location) (int64, bool) {
	const layout = "2006-01-02 15:04:05"
	if len(b) < len(layout) || b[7] != '-' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	if b[10] != ' ' && b[10] != 'T' && b[10] != 't' {
		return 0, false
	}
	var c clock
	if !c.date(b[0:4], b[5:7], b[8:10]) || !c.time(b[11:13], b[14:16], b[17:19]) {
		return 0, false
	}
	rest, ok := c.fraction(b[len(layout):])
	if !ok {
		return 0, false
	}
	if len(rest) == 0 {
		return c.unixMilli(loc), true
	}
	offset, ok := zoneOffset(rest)
	if !ok {
		return 0, false
	}
	return c.unixMilli(time.UTC) - offset, true
}

// parseNumeric reads digits, with a fraction behind Unix seconds.
func parseNumeric(b []byte, loc *time.Location) (int64, bool) {
	var c clock
	whole, fraction, has := bytes.Cut(b, []byte{'.'})
	if has {
		n, ok := digits(whole)
		rest, fine := c.fraction(b[len(whole):])
		return n*1000 + int64(c.ms), ok && fine && len(rest) == 0 && len(fraction) > 0 && n >= minUnixSeconds && n < endUnixSeconds
	}
	if len(b) == len("20060102150405") || len(b) == len("20060102150405000") {
		return parseCompact(b, loc)
	}
	n, ok := digits(b)
	switch {
	case !ok || n < minUnixSeconds:
		return 0, false
	case n < endUnixSeconds:
		return n * 1000, true
	case n < endUnixMillis:
		return n, true
	case n >= minUnixMicros && n < endUnixMicros:
		return n / 1000, true
	}
	return 0, false
}

// parseCompact reads yyyyMMddHHmmss and yyyyMMddHHmmssSSS in loc, the iPinYou log's form.
func parseCompact(b []byte, loc *time.Location) (int64, bool) {
	const whole = len("20060102150405")
	if len(b) != whole && len(b) != whole+3 {
		return 0, false
	}
	var c clock
	if !c.date(b[0:4], b[4:6], b[6:8]) || !c.time(b[8:10], b[10:12], b[12:14]) {
		return 0, false
	}
	if len(b) > whole {
		ms, ok := digits(b[whole:])
		if !ok {
			return 0, false
		}
		c.ms = int(ms)
	}
	return c.unixMilli(loc), true
}

// parseDay reads YYYYMMDD or YYYY-MM-DD as a budget day.
func parseDay(b []byte) (int32, bool) {
	var c clock
	switch b = bytes.TrimSpace(b); {
	case len(b) == 8 && c.date(b[0:4], b[4:6], b[6:8]):
	case len(b) == 10 && b[4] == '-' && b[7] == '-' && c.date(b[0:4], b[5:7], b[8:10]):
	default:
		return 0, false
	}
	day := events.Day(c.year*10000 + c.month*100 + c.day)
	return int32(day), day.Valid()
}
