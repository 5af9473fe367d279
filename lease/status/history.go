package status

import (
	"context"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// RowFilter selects the rows of a key or of a resource.
type RowFilter struct {
	Client, Pool, Key string
	Resource          string
	Partitions        int32 // of the topic
}

// topicTimeout bounds the request that checks whether the topic exists: the addresses that the
// brokers advertise may not be reachable from here. It is longer than kafka.Cluster.Connect takes.
const topicTimeout = 15 * time.Second

// Changes returns the changes of rows since a time, in the order of each partition.
func Changes(ctx context.Context, k kafka.Cluster, rows RowFilter, since time.Time) (all []*eventspb.LeaseChange, err error) {
	quick, cancel := context.WithTimeout(ctx, topicTimeout)
	defer cancel()
	if err := kafkaadmin.ReadTopic(quick, k, events.LeaseChangesTopic, time.Now().Add(time.Hour),
		func(int32, stream.Record) error { return nil }); err != nil {
		return nil, err
	}
	err = kafkaadmin.ReadTopic(ctx, k, events.LeaseChangesTopic, since, func(p int32, r stream.Record) error {
		if rows.Resource == "" && p != events.LeaseShard(rows.Client, rows.Pool, rows.Partitions) {
			return nil
		}
		c := &eventspb.LeaseChange{}
		if err := unmarshal(events.LeaseChangesTopic, p, r, c); err != nil {
			return err
		}
		if c.Client == rows.Client && (rows.Resource != "" && c.GetResource().GetResource() == rows.Resource ||
			rows.Resource == "" && c.Pool == rows.Pool && c.GetKey().GetKey() == rows.Key) {
			all = append(all, c)
		}
		return nil
	})
	return all, err
}
