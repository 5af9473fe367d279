package sink

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// Publisher writes records that say what an effect's outcome was. It is safe for use by many goroutines.
type Publisher struct {
	cl    *kgo.Client
	topic string
}

// NewPublisher makes a Publisher for topic. It connects when the first record comes. Close it.
func NewPublisher(k kafka.Cluster, topic string) (*Publisher, error) {
	cl, err := k.Client(
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(time.Millisecond),
		kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()),
	)
	if err != nil {
		return nil, fmt.Errorf("make producer for %s: %w", topic, err)
	}
	return &Publisher{cl, topic}, nil
}

// Publish returns when all in-sync replicas have the record. After an error they may have it or not; the next is sent all
// the same.
func (p *Publisher) Publish(ctx context.Context, partition int32, key, value []byte) error {
	r := &kgo.Record{Topic: p.topic, Partition: partition, Key: key, Value: value}
	if err := p.cl.ProduceSync(ctx, r).FirstErr(); err != nil {
		return fmt.Errorf("produce to %s[%d]: %w", p.topic, partition, err)
	}
	return nil
}

// Close lets go of the connections.
func (p *Publisher) Close() { p.cl.Close() }
