package plan

import (
	"time"

	"github.com/weirhq/weir/events"
)

// Window is a time in which a budget is spent: a budget day, or the part of it in which a campaign
// runs. Unix milliseconds; the end is exclusive.
type Window struct{ BeginMs, EndMs int64 }

// Cut returns the part of w that is in another window: the flight of a campaign. It may be empty.
func (w Window) Cut(flight Window) Window {
	w.BeginMs = max(w.BeginMs, flight.BeginMs)
	w.EndMs = max(w.BeginMs, min(w.EndMs, flight.EndMs))
	return w
}

// Empty reports whether no time is in w.
func (w Window) Empty() bool { return w.EndMs <= w.BeginMs }

// DayWindow returns the window of a budget day in a time zone. It has 23 or 25 hours where the
// clock is changed by an hour, and none if the zone left the day out, as Samoa did in 2011. ok is
// false if day is not a calendar day.
//
// A day begins after the last time of an earlier date. This differs from events.DayOf only where a
// clock is set back from shortly after midnight to the day before (in Newfoundland until 2011, from
// 00:01): the minute of the new date before the change belongs to the earlier day.
func DayWindow(day events.Day, loc *time.Location) (w Window, ok bool) {
	if !day.Valid() {
		return w, false
	}
	t := time.Date(int(day)/10_000, time.Month(day/100%100), int(day)%100, 0, 0, 0, 0, time.UTC)
	return Window{begin(t, loc), begin(t.AddDate(0, 0, 1), loc)}, true
}

// begin returns the begin of a date, given as its midnight in UTC: the end of the last period with
// an earlier date. Periods of one offset from UTC are looked at from the last to the first.
func begin(date time.Time, loc *time.Location) int64 {
	const most = 26 * time.Hour // no offset from UTC is greater
	for at := date.Add(most).In(loc); ; {
		from, _ := at.ZoneBounds()
		_, offset := at.Zone()
		midnight := date.Add(-time.Duration(offset) * time.Second)
		if midnight.After(at) { // the whole period has earlier dates
			midnight = at.Add(time.Nanosecond)
		}
		if from.IsZero() || midnight.After(from) {
			return midnight.UnixMilli()
		}
		at = from.Add(-time.Nanosecond)
	}
}
