package spendcache

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendlog"
)

// healthRow is the newest health row of a shard in a dataset.
type healthRow struct {
	copied  bool                     // the dataset is pushed from another datacentre
	health  *eventspb.SpendHistogram // the newest that was seen; nil: none yet
	present bool                     // the dataset has it now
	at      time.Time                // when the cache saw it for the first time
	age     time.Duration            // at that time
	asOf    time.Time                // last time at which the cache had read the partition to its end; zero: never
	delays  delays
}

// ager returns the age of a health row that the cache sees for the first time.
type ager func(h *healthRow, now time.Time, writtenMs int64) time.Duration

// observe takes the health row that the dataset has now, nil if it has none.
func (h *healthRow) observe(now time.Time, health *eventspb.SpendHistogram, ageOf ager) {
	if h.present = health != nil; !h.present {
		return
	}
	if h.health != nil && events.CompareVersions(h.health, health) == 0 {
		return // the same row, also if it was removed and written again
	}
	if h.health != nil && (h.health.GetOwnerEpoch() != health.GetOwnerEpoch() || h.health.GetIncarnation() != health.GetIncarnation()) {
		h.delays = delays{} // another process, with another clock
	}
	if events.CompareVersions(h.health, health) > 0 {
		h.asOf = time.Time{} // the log has lost rows: this one is not new
	}
	h.age = ageOf(h, now, health.GetWrittenAtMs())
	h.health, h.at = health, now
	if !h.asOf.IsZero() && now.Round(0).Sub(h.asOf) < justArrived {
		h.delays.note(now, delayOf(now, health.GetWrittenAtMs()))
	}
}

// justArrived is the time since the cache had read the log to its end within which a new row has
// arrived just now: only then its delay shows what the clock of the writer is. Rows that were in
// the log when the cache started, or after an outage of the brokers, are older.
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

// ageOf is the rule of the package's section Age.
func (h *healthRow) ageOf(now time.Time, writtenMs int64) time.Duration {
	age := delayOf(now, writtenMs)
	least, known := h.delays.least()
	switch {
	case known && (least < 0 || least > clockBehind):
		age -= least
	case !known && age < -clockAhead:
		age = unknownAge
	}
	if age = max(0, age); h.copied || h.asOf.IsZero() {
		return age
	}
	return min(age, max(0, now.Round(0).Sub(h.asOf)))
}

// unknownAge is the age of a row of which nothing is known: older than every threshold.
const unknownAge = 1000 * time.Hour

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

// dataset returns what the Selector gets.
func (h *healthRow) dataset(now time.Time) selection.Dataset {
	if !h.present {
		return selection.Dataset{}
	}
	return selection.Dataset{Health: h.health, Age: h.age + now.Sub(h.at)}
}

// readHealth returns the health row of a shard, nil if none can be read.
func readHealth(snap *follower.Snapshot, d *dataset, shard int32) (*eventspb.SpendHistogram, error) {
	row, found, err := snap.Get(d.topic, shard, append([]byte{spendcounter.TableHealth}, spendcounter.HealthKey(d.dc, shard)...))
	if err != nil || !found {
		return nil, err
	}
	h := &eventspb.SpendHistogram{}
	if err := proto.Unmarshal(row.Value, h); err != nil {
		return nil, err
	}
	if h.GetSchema() > spendlog.Schema || h.GetWriterDc() != d.dc || h.GetShard() != shard {
		return nil, nil // of a newer version of weir, or not a row of this dataset
	}
	return h, nil
}

// observe reads the health rows of all shards of a dataset.
func (d *dataset) observe(now time.Time, snap *follower.Snapshot, ageOf ager) {
	for n := range d.health {
		var health *eventspb.SpendHistogram
		if snap != nil {
			health, _ = readHealth(snap, d, int32(n)) // Status has the reason of a partition that cannot be read
		} else if d.health[n].present {
			health = d.health[n].health // Run begins or ends: what is known gets older
		}
		d.health[n].observe(now, health, ageOf)
	}
}

// observeEnds takes how far each partition was read, after its health row was read: the next one
// that is new is behind that point.
func (d *dataset) observeEnds(ends map[partition]time.Time) {
	for n := range d.health {
		if asOf := ends[partition{d.topic, int32(n)}]; asOf.After(d.health[n].asOf) {
			d.health[n].asOf = asOf
		}
	}
}

// forgetClocks forgets what was learned by the clock of this machine, after that was set.
func (d *dataset) forgetClocks() {
	for n := range d.health {
		d.health[n].delays, d.health[n].asOf = delays{}, time.Time{}
	}
}

// partition is one of a topic.
type partition struct {
	topic string
	n     int32
}
