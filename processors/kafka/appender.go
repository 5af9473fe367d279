package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// Appender writes records to one topic for callers that need their offsets, such as an API. It
// writes in order per partition and without duplicates (idempotent, acks=all). It is safe for
// concurrent use: the records of several callers are written in batches together. Producer is for
// many records: it returns before they are safe, waits longer for full batches, and takes no more
// records after an error.
type Appender struct {
	cl    *kgo.Client
	topic string
}

// PartitionMessage is a message for a partition.
type PartitionMessage struct {
	Partition int32
	stream.Message
}

// NewAppender returns an Appender for topic. It connects at the first record. Close it.
func NewAppender(k Cluster, topic string) (*Appender, error) {
	if !stream.ValidName(topic) {
		return nil, fmt.Errorf("make appender: %q is not a legal topic name: use 1 to 200 letters, digits, '.', '_' or '-'", topic)
	}
	cl, err := k.Client(
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(time.Millisecond),
		kgo.MaxBufferedRecords(producerBuffered), kgo.MaxBufferedBytes(producerBytes),
		kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()),
		kgo.AllowIdempotentProduceCancellation(), // otherwise a record outlives its context while the brokers are away
	)
	if err != nil {
		return nil, fmt.Errorf("make appender for %s: %w", topic, err)
	}
	return &Appender{cl, topic}, nil
}

// Append writes records and returns their offsets, in the order of list, when all of them are
// acknowledged. After an error, also that of ctx, any of them may be written. It does not copy the
// messages, and ignores their times.
func (a *Appender) Append(ctx context.Context, list []PartitionMessage) (offsets []int64, err error) {
	records := make([]*kgo.Record, len(list))
	for i := range list {
		m := &list[i]
		r := &kgo.Record{Topic: a.topic, Partition: m.Partition, Key: m.Key, Value: m.Value}
		for _, h := range m.Headers {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
		}
		records[i] = r
	}
	if err := a.cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return nil, fmt.Errorf("produce to %s: %w", a.topic, err)
	}
	for _, r := range records {
		offsets = append(offsets, r.Offset)
	}
	return offsets, nil
}

// Close closes the connections. Records without an acknowledgement are lost.
func (a *Appender) Close() { a.cl.Close() }
