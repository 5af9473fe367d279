package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// leaseLog is the content of lease.changes, row by row.
type leaseLog struct {
	rows    map[rowName]*rowLog
	changes int // without scanned ones
	scanned int
	wrong   []string
}

// rowName is a row in one partition of the topic. Rows of pools are in every partition.
type rowName struct {
	lease.PrimaryKey
	partition int32
}

// rowLog is the history of a row.
type rowLog struct {
	seen   map[int64]bool   // versions that came from a stream
	last   map[string]int64 // last version, by the region of the stream
	newest *eventspb.LeaseChange
}

// readLeaseLog reads the whole topic. It records each change that comes twice, or after a newer one
// of its row from the same region.
func readLeaseLog(ctx context.Context, k kafka.Cluster) (*leaseLog, error) {
	l := &leaseLog{rows: map[rowName]*rowLog{}}
	err := kafkaadmin.ReadTopic(ctx, k, events.LeaseChangesTopic, time.Time{}, func(p int32, r stream.Record) error {
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(r.Value, c); err != nil {
			return fmt.Errorf("change %d/%d: %w", p, r.Offset, err)
		}
		if name, version, ok := nameOf(c); ok {
			l.add(rowName{name, p}, version, c)
		}
		return nil
	})
	return l, err
}

// nameOf returns the row of a change, if such rows have versions.
func nameOf(c *eventspb.LeaseChange) (p lease.PrimaryKey, version int64, ok bool) {
	switch r := c.Row.(type) {
	case *eventspb.LeaseChange_Resource:
		return lease.ResourceRow(c.Client, r.Resource.Resource), r.Resource.Version, true
	case *eventspb.LeaseChange_Key:
		return lease.PrimaryKey{Partition: lease.KeyPartition(c.Client, c.Pool, r.Key.Key), Sort: r.Key.Region}, r.Key.Version, true
	case *eventspb.LeaseChange_Settings:
		return lease.PoolRow(c.Client, c.Pool), r.Settings.Version, true
	case *eventspb.LeaseChange_RegionRow:
		return lease.RegionRow(r.RegionRow.Region), r.RegionRow.Version, true
	}
	return p, 0, false
}

func (l *leaseLog) add(name rowName, version int64, c *eventspb.LeaseChange) {
	r := l.rows[name]
	if r == nil {
		r = &rowLog{seen: map[int64]bool{}, last: map[string]int64{}}
		l.rows[name] = r
	}
	if r.newest == nil || version > r.newestVersion() {
		r.newest = c
	}
	if c.Scanned {
		l.scanned++
		return
	}
	l.changes++
	if r.seen[version] {
		l.wrong = append(l.wrong, fmt.Sprintf("version %d of %v comes twice, now from %s", version, name, c.Region))
	}
	if version < r.last[c.Region] {
		l.wrong = append(l.wrong, fmt.Sprintf("version %d of %v comes after %d, from %s", version, name, r.last[c.Region], c.Region))
	}
	r.seen[version], r.last[c.Region] = true, version
}

// heard returns an error if the log has no change from the stream of a region.
func (l *leaseLog) heard(regions []string) error {
	for _, region := range regions {
		if !slices.ContainsFunc(slices.Collect(maps.Values(l.rows)), func(r *rowLog) bool { return r.last[region] > 0 }) {
			return fmt.Errorf("no change from %s", region)
		}
	}
	return nil
}

// leases reports whether the row is a resource or a key, and not a setting.
func (r *rowLog) leases() bool { return r.newest.GetResource() != nil || r.newest.GetKey() != nil }

func (r *rowLog) newestVersion() int64 {
	_, v, _ := nameOf(r.newest)
	return v
}

// gaps returns the missing versions of resources and keys. Each write adds one to the version, so
// there must be none.
func (l *leaseLog) gaps() (gaps []string) {
	for name, r := range l.rows {
		if !r.leases() {
			continue
		}
		for v := int64(1); v <= r.newestVersion(); v++ {
			if !r.seen[v] {
				gaps = append(gaps, fmt.Sprintf("version %d of %v is missing; the last version is %d", v, name, r.newestVersion()))
			}
		}
	}
	return gaps
}

// leaseOutcomes holds the commands and their results.
type leaseOutcomes struct {
	commands map[string]*eventspb.LeaseCommand // by id
	answers  map[string]*eventspb.LeaseResult  // first result, by id of the command
	done     map[string]*eventspb.LeaseResult  // first result that reports success
}

// readOutcomes reads commands and results.
func readOutcomes(ctx context.Context, k kafka.Cluster, regions []string) (*leaseOutcomes, error) {
	o := &leaseOutcomes{commands: map[string]*eventspb.LeaseCommand{}, answers: map[string]*eventspb.LeaseResult{}, done: map[string]*eventspb.LeaseResult{}}
	for _, region := range regions {
		err := kafkaadmin.ReadTopic(ctx, k, events.LeaseCommandsTopic(region), time.Time{}, func(_ int32, r stream.Record) error {
			c := &eventspb.LeaseCommand{}
			err := proto.Unmarshal(r.Value, c)
			o.commands[c.Id] = c
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return o, kafkaadmin.ReadTopic(ctx, k, events.LeaseResultsTopic, time.Time{}, func(_ int32, r stream.Record) error {
		x := &eventspb.LeaseResult{}
		err := proto.Unmarshal(r.Value, x)
		if o.answers[x.Id] == nil {
			o.answers[x.Id] = x
		}
		if x.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE && o.done[x.Id] == nil {
			o.done[x.Id] = x
		}
		return err
	})
}

// count returns the number of carried-out commands of a kind.
func (o *leaseOutcomes) count(kind string) (n int) {
	for _, r := range o.done {
		if r.Kind == kind {
			n++
		}
	}
	return n
}

// delays returns the times from the end of a lease to the liberation of its resource.
func (o *leaseOutcomes) delays(accept func(*eventspb.LeaseResult) bool) (all []time.Duration) {
	for id, r := range o.done {
		if c := o.commands[id].GetLiberate(); c != nil && accept(r) {
			all = append(all, time.Duration(r.DoneMs-c.ExpiresMs)*time.Millisecond)
		}
	}
	return all
}

// liberated returns the delays of a region's liberations that were done in a period.
func (o *leaseOutcomes) liberated(region string, from, to time.Time) []time.Duration {
	return o.delays(func(r *eventspb.LeaseResult) bool {
		at := time.UnixMilli(r.DoneMs)
		return r.Region == region && at.After(from) && at.Before(to)
	})
}

// size returns the number of records of a topic.
func size(ctx context.Context, k kafka.Cluster, topic string) (n int, err error) {
	err = kafkaadmin.ReadTopic(ctx, k, topic, time.Time{}, func(int32, stream.Record) error {
		n++
		return nil
	})
	return n, err
}
