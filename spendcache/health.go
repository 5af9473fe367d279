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
	health  *eventspb.SpendHistogram // the newest that was seen; nil: none yet
	present bool                     // the dataset has it now
	at      time.Time                // when the cache saw it for the first time
	age     time.Duration            // at that time
	asOf    time.Time                // last time at which the cache had read the partition to its end; zero: never
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
	h.health, h.at, h.age = health, now, ageOf(h, now, health.GetWrittenAtMs())
}

// ageOf returns the age of a row that the cache sees for the first time: by the clock of the
// writer, but neither negative nor longer than the time since the cache had read the log to its end
// without the row.
func (h *healthRow) ageOf(now time.Time, writtenMs int64) time.Duration {
	age := max(0, time.Duration(now.UnixMilli()-writtenMs)*time.Millisecond)
	if h.asOf.IsZero() {
		return age
	}
	return min(age, max(0, now.Round(0).Sub(h.asOf)))
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

// partition is one of a topic.
type partition struct {
	topic string
	n     int32
}
