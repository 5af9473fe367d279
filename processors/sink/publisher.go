package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// Publisher writes the results of a sink's actions to a topic, one by one: Do publishes a result
// and returns when the result is safe. It is safe for concurrent use.
//
// kafka.Producer is for many records: it returns before they are safe, waits longer for full
// batches, and takes no more records after an error.
type Publisher struct {
	cl    *kgo.Client
	topic string
}

// NewPublisher makes a Publisher for topic. It connects with the first record. Close it.
func NewPublisher(k kafka.Cluster, topic string) (*Publisher, error) {
	cl, err := k.Client(
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(time.Millisecond),
		kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()),
		// Without this, a record whose answer was lost outlives its context while the brokers are
		// away.
		kgo.AllowIdempotentProduceCancellation(),
	)
	if err != nil {
		return nil, fmt.Errorf("make producer for %s: %w", topic, err)
	}
	return &Publisher{cl, topic}, nil
}

// Publish returns when all in-sync replicas have the record, or when ctx ends. After an error they
// may have the record or not, and the next Publish may succeed.
func (p *Publisher) Publish(ctx context.Context, partition int32, key, value []byte) error {
	r := &kgo.Record{Topic: p.topic, Partition: partition, Key: key, Value: value}
	if err := p.cl.ProduceSync(ctx, r).FirstErr(); err != nil {
		return fmt.Errorf("produce to %s[%d]: %w", p.topic, partition, err)
	}
	return nil
}

// Close closes the connections.
func (p *Publisher) Close() { p.cl.Close() }
