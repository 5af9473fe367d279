package events

import (
	"fmt"
	"strconv"
	"time"
)

// Day is a calendar day of the years 1970 to 9999, as the number YYYYMMDD. Zero means no day. A
// later day is a greater number.
type Day int32

const (
	msPerDay = 24 * 60 * 60 * 1000
	// maxDayMs is the last millisecond of 9999-12-31 UTC.
	maxDayMs = 253_402_300_799_999
)

// BudgetDay returns the day that an event is charged to: its budget_day, or without one the UTC day
// of its event_ms. It checks neither.
func BudgetDay(day int32, eventMs int64) Day {
	if day != 0 {
		return Day(day)
	}
	return UTCDay(eventMs)
}

// UTCDay returns the UTC day of the Unix millisecond ms, or zero outside the years 1970 to 9999. It
// is called once per event, so it uses plain arithmetic and allocates nothing.
func UTCDay(ms int64) Day {
	if ms < 0 || ms > maxDayMs {
		return 0
	}
	// This is the inverse of "days from civil" (Howard Hinnant, "chrono-compatible low-level date
	// algorithms"). A year begins in March, so that the leap day is the last day of a year and all
	// eras of 400 years are equal.
	z := uint32(ms/msPerDay) + 719_468 // days since 0000-03-01
	era := z / 146_097
	doe := z % 146_097 // day of era
	yoe := (doe - doe/1_460 + doe/36_524 - doe/146_096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100) // day of the year that began in March
	mp := (5*doy + 2) / 153                  // month, March = 0
	d := doy - (153*mp+2)/5 + 1
	y, m := yoe+400*era, mp+3
	if m > 12 {
		y, m = y+1, m-12
	}
	return Day(y*10_000 + m*100 + d)
}

// DayOf returns the calendar day of the Unix millisecond ms in the time zone loc, whether that day
// has 23, 24 or 25 hours. It returns zero outside the years 1970 to 9999. loc must not be nil.
func DayOf(ms int64, loc *time.Location) Day {
	return dayOf(time.UnixMilli(ms).In(loc))
}

// ParseDay reads a day in the form "2006-01-02". It returns an error for a day outside the years
// 1970 to 9999.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err == nil {
		if d := dayOf(t); d != 0 {
			return d, nil
		}
	}
	return 0, fmt.Errorf("day %q: not a calendar day from 1970 to 9999: write it as 2006-01-02", s)
}

func dayOf(t time.Time) Day {
	y, m, d := t.Date()
	if y < 1970 || y > 9999 {
		return 0
	}
	return Day(y*10_000 + int(m)*100 + d)
}

// Valid reports whether d is a day of the calendar.
func (d Day) Valid() bool {
	y, m, dom := d/10_000, d/100%100, d%100
	if y < 1970 || y > 9999 || dom < 1 {
		return false
	}
	switch m {
	case 1, 3, 5, 7, 8, 10, 12:
		return dom <= 31
	case 4, 6, 9, 11:
		return dom <= 30
	case 2:
		leap := y%4 == 0 && (y%100 != 0 || y%400 == 0)
		return dom <= 28 || leap && dom == 29
	}
	return false
}

// MinEventMs is the least time of an event: the year 1990, before the first ad on the web. A lower
// one is a time in another unit, most often in seconds, which would charge the event to 1970.
const MinEventMs = 631_152_000_000

// BeforeMinimum explains an event time below MinEventMs, with the likely mistake.
func BeforeMinimum(ms int64) string {
	const endUnixSeconds = 100_000_000_000
	if ms >= MinEventMs/1000 && ms < endUnixSeconds {
		return fmt.Sprintf("event_ms %d is before 1990: it looks like seconds; write Unix milliseconds", ms)
	}
	return fmt.Sprintf("event_ms %d is before 1990: write Unix milliseconds", ms)
}

// Add returns the day some days later, or earlier if days is negative.
func (d Day) Add(days int) Day {
	return dayOf(time.Date(int(d)/10_000, time.Month(d/100%100), int(d)%100+days, 0, 0, 0, 0, time.UTC))
}

// String returns the day as "2006-01-02", "" for zero, and the bare number if d is not valid.
func (d Day) String() string {
	switch {
	case d == 0:
		return ""
	case !d.Valid():
		return strconv.Itoa(int(d))
	}
	return fmt.Sprintf("%04d-%02d-%02d", d/10_000, d/100%100, d%100)
}
