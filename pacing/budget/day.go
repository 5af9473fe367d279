package budget

import (
	"time"

	"github.com/weirhq/weir/events"
)

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
