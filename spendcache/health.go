package spendcache

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/healthage"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/spendcounter/spendlog"
)

// selectable returns what the Selector gets of a health row.
func selectable(h *healthage.Row, now time.Time) selection.Dataset {
	if !h.Present {
		return selection.Dataset{}
	}
	return selection.Dataset{Health: h.Health, Age: h.Age(now)}
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
func (d *dataset) observe(now time.Time, snap *follower.Snapshot, rule healthage.Rule) {
	for n := range d.health {
		var health *eventspb.SpendHistogram
		if snap != nil {
			health, _ = readHealth(snap, d, int32(n)) // Status has the reason of a partition that cannot be read
		} else if d.health[n].Present {
			health = d.health[n].Health // Run begins or ends: what is known gets older
		}
		d.health[n].Observe(now, health, rule)
	}
}

// observeEnds takes how far each partition was read, after its health row was read: the next one
// that is new is behind that point.
func (d *dataset) observeEnds(ends map[partition]time.Time) {
	for n := range d.health {
		d.health[n].ReadTo(ends[partition{d.topic, int32(n)}])
	}
}

// forgetClocks forgets what was learned by the clock of this machine, after that was set.
func (d *dataset) forgetClocks() {
	for n := range d.health {
		d.health[n].ForgetClocks()
	}
}

// partition is one of a topic.
type partition struct {
	topic string
	n     int32
}
