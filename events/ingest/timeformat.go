package ingest

import (
	"strings"
	"time"
)

// parseTimeFormat sets timeLayout from TimeFormat.
func (s *settings) parseTimeFormat() error {
	layout := s.TimeFormat
	if strings.Contains(layout, "%") {
		var bad string
		if layout, bad = goLayout(s.TimeFormat); bad != "" {
			return usage(
				"time format %q: %q is not supported: use %%Y %%y %%m %%d %%e %%b %%B %%a %%A %%H %%I %%M %%S %%f %%p %%z %%F %%T %%%%",
				s.TimeFormat, bad)
		}
	}
	// A layout that loses a part of a date, such as the year, loses it from every row.
	date := time.Date(1987, time.November, 23, 0, 0, 0, 0, time.UTC)
	if got, err := time.ParseInLocation(layout, date.Format(layout), time.UTC); layout != "" && (err != nil || !got.Equal(date)) {
		return usage("time format %q names no year, month and day: write one such as %%d/%%m/%%Y %%H:%%M, or 02/01/2006 15:04",
			s.TimeFormat)
	}
	if strings.Contains(layout, "MST") { // Go reads an unknown abbreviation as UTC
		return usage("time format %q: names of zones are ambiguous: use a zone for all rows, or an offset (%%z)", s.TimeFormat)
	}
	s.timeLayout = layout
	return nil
}

// goLayout converts a format of strftime to a layout of Go, or returns what it cannot convert.
func goLayout(format string) (layout, bad string) {
	directives := map[byte]string{
		'Y': "2006", 'y': "06", 'm': "01", 'd': "02", 'e': "_2", 'b': "Jan", 'B': "January", 'a': "Mon", 'A': "Monday",
		'H': "15", 'I': "03", 'M': "04", 'S': "05", 'f': "999999", 'p': "PM", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05", '%': "%",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		c := format[i]
		switch {
		case c == '%' && i+1 < len(format) && directives[format[i+1]] != "":
			i++
			b.WriteString(directives[format[i]])
		case c == '%':
			return "", format[i:min(i+2, len(format))]
		case c >= '0' && c <= '9' || c == '_': // would be a part of Go's layout
			return "", string(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), ""
}

// parseLayout parses a time by a layout of Go to Unix milliseconds. A time without a zone is in
// loc.
func parseLayout(layout, s string, loc *time.Location) (int64, bool) {
	t, err := time.ParseInLocation(layout, strings.TrimSpace(s), loc)
	ms := t.UnixMilli()
	return ms, err == nil && ms > 0 && ms < maxEventMs
}
