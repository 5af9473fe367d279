package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// Query selects what Read returns. An empty name selects everything.
type Query struct {
	Client, Pool string
	Since        time.Time // of journal entries
	Regions      []string  // whose waiting commands are counted
}

// wants reports whether the query selects the pool.
func (q *Query) wants(client, pool string) bool {
	return (q.Client == "" || q.Client == client) && (q.Pool == "" || q.Pool == pool)
}

// Status is the status of the lease loop.
type Status struct {
	Headroom   []*eventspb.LeaseHeadroom     // by client, pool and region
	Notes      []*eventspb.LeaseJournalEntry // oldest first
	Duplicates []*eventspb.LeaseDuplicate
	Waiting    []Waiting
}

// Waiting counts the commands that the executor of a region has not carried out.
type Waiting struct {
	Region   string
	Commands int64
	Oldest   time.Duration // age of the oldest command; below 0: not known
}

// Read reads the topics up to their current ends.
func Read(ctx context.Context, k kafka.Cluster, q Query) (*Status, error) {
	v := &Status{}
	var err error
	if v.Headroom, err = Headroom(ctx, k, q); err != nil {
		return nil, err
	}
	if v.Notes, err = Notes(ctx, k, q); err != nil {
		return nil, err
	}
	if v.Duplicates, err = Duplicates(ctx, k, q); err != nil {
		return nil, err
	}
	v.Waiting, err = waiting(ctx, k, q.Regions)
	return v, err
}

// Headroom returns the free resources and the forecast of each pool in each region.
func Headroom(ctx context.Context, k kafka.Cluster, q Query) ([]*eventspb.LeaseHeadroom, error) {
	all, err := latest[eventspb.LeaseHeadroom](ctx, k, events.LeaseHeadroomTopic)
	all = slices.DeleteFunc(all, func(h *eventspb.LeaseHeadroom) bool { return !q.wants(h.Client, h.Pool) })
	slices.SortFunc(all, func(a, b *eventspb.LeaseHeadroom) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Region, b.Region))
	})
	return all, err
}

// Duplicates returns the keys that were leased in several regions.
func Duplicates(ctx context.Context, k kafka.Cluster, q Query) ([]*eventspb.LeaseDuplicate, error) {
	all, err := latest[eventspb.LeaseDuplicate](ctx, k, events.LeaseDuplicatesTopic)
	all = slices.DeleteFunc(all, func(d *eventspb.LeaseDuplicate) bool { return !q.wants(d.Client, d.Pool) })
	slices.SortFunc(all, func(a, b *eventspb.LeaseDuplicate) int {
		return cmp.Or(cmp.Compare(a.SinceMs, b.SinceMs), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Pool, b.Pool),
			cmp.Compare(a.Key, b.Key))
	})
	return all, err
}

// Notes returns the journal entries since a time: those of the pools, and those of whole regions.
func Notes(ctx context.Context, k kafka.Cluster, q Query) (all []*eventspb.LeaseJournalEntry, err error) {
	err = kafkaadmin.ReadTopic(ctx, k, events.LeaseJournalTopic, q.Since, func(p int32, r stream.Record) error {
		n := &eventspb.LeaseJournalEntry{}
		if err := unmarshal(events.LeaseJournalTopic, p, r, n); err != nil {
			return err
		}
		if n.Client == "" || q.wants(n.Client, n.Pool) {
			all = append(all, n)
		}
		return nil
	})
	slices.SortStableFunc(all, func(a, b *eventspb.LeaseJournalEntry) int { return cmp.Compare(a.AtMs, b.AtMs) })
	return all, err
}

// message is a pointer to the type of a record's value.
type message[T any] interface {
	*T
	proto.Message
}

// latest returns the last value of every key of a compacted topic.
func latest[T any, P message[T]](ctx context.Context, k kafka.Cluster, topic string) ([]P, error) {
	last := map[string]P{}
	err := kafkaadmin.ReadTopic(ctx, k, topic, time.Time{}, func(p int32, r stream.Record) error {
		if r.Value == nil {
			delete(last, string(r.Key))
			return nil
		}
		v := P(new(T))
		last[string(r.Key)] = v
		return unmarshal(topic, p, r, v)
	})
	all := make([]P, 0, len(last))
	for _, v := range last {
		all = append(all, v)
	}
	return all, err
}

func unmarshal(topic string, partition int32, r stream.Record, m proto.Message) error {
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return fmt.Errorf("record %s[%d]@%d: %w", topic, partition, r.Offset, err)
	}
	return nil
}

// waiting reads the committed offsets of the executors' groups.
func waiting(ctx context.Context, k kafka.Cluster, regions []string) (all []Waiting, err error) {
	for _, r := range regions {
		lag, err := kafkaadmin.Lag(ctx, k, events.LeaseExecutorGroup(r), []string{events.LeaseCommandsTopic(r)})
		if err != nil {
			return nil, err
		}
		w := Waiting{Region: r}
		for _, l := range lag {
			w.Commands += l.Lag
			w.Oldest = max(w.Oldest, time.Duration(l.LagSeconds*float64(time.Second)))
		}
		all = append(all, w)
	}
	return all, nil
}
