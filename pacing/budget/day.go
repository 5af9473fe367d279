package budget

import (
	"time"

	"github.com/weirhq/weir/events"
)

// DayBegin returns the first instant, in Unix ms, whose local date is day or later. A day ends
// where the next one begins, so days have neither gaps nor overlaps, and have 23, 24 or 25 hours
// where clocks change. A day that a zone has skipped, as Samoa has skipped 2011-12-30, has none.
//
// Clocks that go back over midnight give the last minutes of a day a second time, after the first
// minutes of the next. These belong to the next day here, while events.DayOf calls them by their
// date. No zone has done so since 2011. day must be valid, and loc not nil.
func DayBegin(day events.Day, loc *time.Location) int64 {
	y, m, d := int(day)/10_000, time.Month(int(day)/100%100), int(day)%100
	midnight := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	// Within a range without a change of the clocks, local time is UTC plus an offset.
	for at := midnight.Add(-26 * time.Hour).In(loc); ; {
		_, offset := at.Zone()
		begin := midnight.Add(-time.Duration(offset) * time.Second)
		start, end := at.ZoneBounds()
		if end.IsZero() || begin.Before(end) {
			if begin.Before(start) { // the clocks went over midnight
				begin = start
			}
			return begin.UnixMilli()
		}
		at = end
	}
}

// next returns the calendar day after day.
func next(day events.Day) events.Day { return addDays(day, 1) }

func addDays(day events.Day, n int) events.Day {
	t := time.Date(int(day)/10_000, time.Month(int(day)/100%100), int(day)%100+n, 0, 0, 0, 0, time.UTC)
	return dayOf(t)
}

func dayOf(t time.Time) events.Day {
	y, m, d := t.Date()
	return events.Day(y*10_000 + int(m)*100 + d)
}

// monthOf returns the first and the last calendar day of the month of day.
func monthOf(day events.Day) (first, last events.Day) {
	first = day/100*100 + 1
	t := time.Date(int(day)/10_000, time.Month(int(day)/100%100)+1, 0, 0, 0, 0, 0, time.UTC)
	return first, dayOf(t)
}

// daysBetween returns the number of calendar days from first to last, both included; 0 if there is
// none.
func daysBetween(first, last events.Day) int64 {
	if last < first {
		return 0
	}
	utc := func(d events.Day) time.Time {
		return time.Date(int(d)/10_000, time.Month(int(d)/100%100), int(d)%100, 0, 0, 0, 0, time.UTC)
	}
	return int64(utc(last).Sub(utc(first))/(24*time.Hour)) + 1
}
