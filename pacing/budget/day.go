package budget

import (
	"time"

	"github.com/weirhq/weir/events"
)

// monthOf returns the first and the last calendar day of the month of day.
func monthOf(day events.Day) (first, last events.Day) {
	first = day/100*100 + 1
	for last = first.Add(27); last.Add(1)/100 == first/100; {
		last = last.Add(1)
	}
	return first, last
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
