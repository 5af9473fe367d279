package connect

import (
	"context"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// Documents decodes the records of a topic.
type Documents[T any] struct {
	App    *cli.App
	Decode func(value []byte) (*T, error)
	Keep   func(*T) bool // whether a document is one of those that are asked for
}

// Add appends the document of a record to list, if it is to be kept. A record that cannot be
// decoded is left out, with a note.
func (d Documents[T]) Add(list []T, partition int32, offset int64, value []byte) []T {
	x, err := d.Decode(value)
	switch {
	case err != nil:
		d.App.Notef("the record at offset %d of partition %d is left out: %v", offset, partition, err)
	case d.Keep(x):
		return append(list, *x)
	}
	return list
}

// Read returns the documents of a topic, as kafkaadmin.ReadPartitions does. Without one the list is
// empty, and not nil.
func (d Documents[T]) Read(ctx context.Context, k kafka.Cluster, of kafkaadmin.TopicRange) ([]T, error) {
	list := []T{}
	err := kafkaadmin.ReadPartitions(ctx, k, of, func(p int32, r stream.Record) error {
		list = d.Add(list, p, r.Offset, r.Value)
		return nil
	})
	return list, err
}
