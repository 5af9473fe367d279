package ingest

import (
	"strings"
	"time"

	"github.com/weirhq/weir/events"
)

// The magnitude of a number decides its unit as a Unix time. A number between the ranges is either
// a date written as digits or too early for an ad event. It is refused, because a guess would put
// money on a wrong day.
const (
	minUnixSeconds = 1e8 // March 1973
	endUnixSeconds = 1e11
	endUnixMillis  = 1e13 // the year 2286
	minUnixMicros  = 1e14 // March 1973
	endUnixMicros  = 1e16
)

// maxEventMs is the end of the year 9998 in every zone: the last year whose days fit YYYYMMDD.
const maxEventMs = 253370764800000

// parseTime parses RFC 3339, the same with a space in place of the T or without a zone (then the
// time is in loc), Unix seconds with or without a fraction, Unix milliseconds and microseconds, and
// yyyyMMddHHmmss[SSS] in loc. A time with a date may leave out the seconds. It returns Unix
// milliseconds, rounded down. It refuses every other text, and times before 1970 or after 9998.
//
// time.Parse would need one attempt for each of about ten layouts, and accepts more than RFC 3339,
// such as an hour of one digit and a comma before the fraction.
func parseTime(s string, loc *time.Location) (ms int64, ok bool) {
	s = strings.TrimSpace(s)
	if len(s) >= len("2006-01-02") && s[4] == '-' {
		ms, ok = parseDateTime(s, loc)
	} else {
		ms, ok = parseNumeric(s, loc)
	}
	return ms, ok && ms > 0 && ms < maxEventMs
}

func parseDateTime(s string, loc *time.Location) (int64, bool) {
	const layout = "2006-01-02 15:04:05"
	const minutes = len("2006-01-02 15:04")
	if len(s) >= minutes && (len(s) == minutes || s[minutes] != ':') {
		s = s[:minutes] + ":00" + s[minutes:]
	}
	if len(s) < len(layout) || s[7] != '-' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	if s[10] != ' ' && s[10] != 'T' && s[10] != 't' {
		return 0, false
	}
	var t wallTime
	if !t.setDate(s[0:4], s[5:7], s[8:10]) || !t.setTime(s[11:13], s[14:16], s[17:19]) {
		return 0, false
	}
	rest, ok := t.setFraction(s[len(layout):])
	if !ok {
		return 0, false
	}
	if rest == "" {
		return t.unixMilli(loc), true
	}
	offset, ok := zoneOffset(rest)
	if !ok {
		return 0, false
	}
	return t.unixMilli(time.UTC) - offset, true
}

// parseNumeric parses digits, and a fraction after Unix seconds.
func parseNumeric(s string, loc *time.Location) (int64, bool) {
	var t wallTime
	whole, fraction, found := strings.Cut(s, ".")
	if found {
		n, ok := digits(whole)
		rest, fractionOK := t.setFraction(s[len(whole):])
		return n*1000 + int64(t.ms), ok && fractionOK && rest == "" && fraction != "" && n >= minUnixSeconds && n < endUnixSeconds
	}
	if len(s) == len("20060102150405") || len(s) == len("20060102150405000") {
		return parseCompact(s, loc)
	}
	n, ok := digits(s)
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

// parseCompact parses yyyyMMddHHmmss and yyyyMMddHHmmssSSS in loc, the form of the iPinYou log.
func parseCompact(s string, loc *time.Location) (int64, bool) {
	const whole = len("20060102150405")
	if len(s) != whole && len(s) != whole+3 {
		return 0, false
	}
	var t wallTime
	if !t.setDate(s[0:4], s[4:6], s[6:8]) || !t.setTime(s[8:10], s[10:12], s[12:14]) {
		return 0, false
	}
	if len(s) > whole {
		ms, ok := digits(s[whole:])
		if !ok {
			return 0, false
		}
		t.ms = int(ms)
	}
	return t.unixMilli(loc), true
}

// parseDay parses YYYYMMDD or YYYY-MM-DD as a budget day.
func parseDay(s string) (int32, bool) {
	var t wallTime
	switch s = strings.TrimSpace(s); {
	case len(s) == 8 && t.setDate(s[0:4], s[4:6], s[6:8]):
	case len(s) == 10 && s[4] == '-' && s[7] == '-' && t.setDate(s[0:4], s[5:7], s[8:10]):
	default:
		return 0, false
	}
	day := events.Day(t.year*10000 + t.month*100 + t.day)
	return int32(day), day.Valid()
}
