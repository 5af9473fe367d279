package healthage

import (
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Row is the newest health row of a shard in a dataset.
type Row struct {
	Copied  bool                     // the dataset is pushed from another datacentre
	Health  *eventspb.SpendHistogram // the newest that was seen; nil: none yet
	Present bool                     // the dataset has it now
	Seen    time.Time                // when the reader saw it for the first time
	SeenAge time.Duration            // at that time

	asOf   time.Time // last time at which the reader had read the log to its end; zero: never
	delays delays
}

// Rule returns the age of a health row that the reader sees for the first time.
type Rule func(r *Row, now time.Time, writtenMs int64) time.Duration

// Observe takes the health row that the dataset has now, nil if it has none. rule is Row.AgeOf,
// except in tests.
func (r *Row) Observe(now time.Time, health *eventspb.SpendHistogram, rule Rule) {
	if r.Present = health != nil; !r.Present {
		return
	}
	if r.Health != nil && events.CompareVersions(r.Health, health) == 0 {
		return // the same row, also if it was removed and written again
	}
	if r.Health != nil && (r.Health.GetOwnerEpoch() != health.GetOwnerEpoch() || r.Health.GetIncarnation() != health.GetIncarnation()) {
		r.delays = delays{} // another process, with another clock
	}
	if events.CompareVersions(r.Health, health) > 0 {
		r.asOf = time.Time{} // the log has lost rows: this one is not new
	}
	r.SeenAge = rule(r, now, health.GetWrittenAtMs())
	r.Health, r.Seen = health, now
	if !r.asOf.IsZero() && now.Round(0).Sub(r.asOf) < justArrived {
		r.delays.note(now, delayOf(now, health.GetWrittenAtMs()))
	}
}

// justArrived is the time since the reader had read the log to its end within which a new row has
// arrived just now: only then its delay shows what the clock of the writer is. Rows that were in
// the log when the reader started, or after an outage of the brokers, are older.
const justArrived = 5 * time.Second

// delayOf is the time since a row was written, by the clock of the writer: the delay and the
// difference between the clocks.
func delayOf(now time.Time, writtenMs int64) time.Duration {
	return time.Duration(now.UnixMilli()-writtenMs) * time.Millisecond
}

// Delays of less than -clockAhead show that the clock of the writer is ahead, so that nothing is
// known of the age of the first row. If all delays are more than clockBehind, the clock is behind.
const (
	clockAhead  = 2 * time.Second
	clockBehind = 30 * time.Second
)

// ClockStep is the difference between the two clocks of a machine from which on its wall clock was
// set: see ForgetClocks.
const ClockStep = clockAhead

// Unknown is the age of a row of which nothing is known: older than every threshold.
const Unknown = 1000 * time.Hour

// AgeOf is the rule of the section Age of package spendcache.
func (r *Row) AgeOf(now time.Time, writtenMs int64) time.Duration {
	age := delayOf(now, writtenMs)
	least, known := r.delays.least()
	switch {
	case known && (least < 0 || least > clockBehind):
		age -= least
	case !known && age < -clockAhead:
		age = Unknown
	}
	if age = max(0, age); r.Copied || r.asOf.IsZero() {
		return age
	}
	return min(age, max(0, now.Round(0).Sub(r.asOf)))
}

// Age returns the age of the newest row now.
func (r *Row) Age(now time.Time) time.Duration { return r.SeenAge + now.Sub(r.Seen) }

// ReadTo takes when the log was last read to its end, after Observe: the next row that is new is
// behind that point.
func (r *Row) ReadTo(asOf time.Time) {
	if asOf.After(r.asOf) {
		r.asOf = asOf
	}
}

// ForgetClocks forgets what was learned by the clock of this machine, after that was set.
func (r *Row) ForgetClocks() { r.delays, r.asOf = delays{}, time.Time{} }

// delays has the least delay of the health rows of the last 30 to 60 minutes.
type delays struct {
	values [2]time.Duration // of the present half hour, and of the one before
	has    [2]bool
	begun  time.Time // of the present half hour
}

const delaysEvery = 30 * time.Minute

func (d *delays) note(now time.Time, delay time.Duration) {
	if now.Sub(d.begun) >= delaysEvery {
		d.values[1], d.has[1], d.has[0], d.begun = d.values[0], d.has[0], false, now
	}
	if !d.has[0] || delay < d.values[0] {
		d.values[0], d.has[0] = delay, true
	}
}

func (d *delays) least() (least time.Duration, known bool) {
	for i, v := range d.values {
		if d.has[i] && (!known || v < least) {
			least, known = v, true
		}
	}
	return least, known
}
