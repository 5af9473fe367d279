package leasestatus

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

// Changes returns the changes of rows since a time, in the order of each partition.
func Changes(ctx context.Context, k kafka.Cluster, rows RowFilter, since time.Time) (all []*eventspb.LeaseChange, err error) {
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
