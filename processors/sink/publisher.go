package sink

import (
	"context"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Publisher writes the results of a sink's actions to a topic, one by one: Do publishes a result
// and returns when the result is safe. It is safe for concurrent use.
type Publisher struct {
	*kafka.Appender
}

// NewPublisher makes a Publisher for topic. It connects with the first record. Close it.
func NewPublisher(k kafka.Cluster, topic string) (*Publisher, error) {
	a, err := kafka.NewAppender(k, topic)
	if err != nil {
		return nil, err
	}
	return &Publisher{a}, nil
}

// Publish returns when all in-sync replicas have the record, or when ctx ends. After an error they
// may have the record or not, and the next Publish may succeed.
func (p *Publisher) Publish(ctx context.Context, partition int32, key, value []byte) error {
	_, err := p.Append(ctx, []kafka.PartitionMessage{{Partition: partition, Message: stream.Message{Key: key, Value: value}}})
	return err
}
