package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// Bounds of a Producer: unacknowledged records, their bytes, and the size of a block of copies.
const (
	producerBuffered = 200_000
	producerBytes    = 64 << 20
	producerBlock    = 256 << 10
)

// Producer writes records to one topic, in order per partition and without duplicates (idempotent,
// acks=all). Importers and load generators use it. It is safe for concurrent use.
type Producer struct {
	cl    *kgo.Client
	topic string

	acked atomic.Int64
	first atomic.Pointer[error] // first error of any record

	mu    sync.Mutex
	block []byte // space for copies; a full block lives as long as its records
}

// NewProducer returns a Producer for topic. It connects at the first record. Close it.
func NewProducer(k Cluster, topic string) (*Producer, error) {
	if !stream.ValidName(topic) {
		return nil, fmt.Errorf("make producer: %q is not a legal topic name: use 1 to 200 letters, digits, '.', '_' or '-'", topic)
	}
	cl, err := k.Client(
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxBufferedRecords(producerBuffered), kgo.MaxBufferedBytes(producerBytes),
		kgo.ProducerBatchMaxBytes(1<<20), kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()),
	)
	if err != nil {
		return nil, fmt.Errorf("make producer for %s: %w", topic, err)
	}
	return &Producer{cl: cl, topic: topic}, nil
}

// Produce buffers a record. It copies key and value; nil stays nil. It returns before the record is
// acknowledged, and blocks while too many records are not. After a failed record, Produce returns
// the first error for ever: make another Producer and repeat the records that may be missing. ctx
// ends the wait for buffer space; it does not cancel a record that was sent.
func (p *Producer) Produce(ctx context.Context, partition int32, key, value []byte) error {
	return p.ProduceMessage(ctx, partition, stream.Message{Key: key, Value: value})
}

// ProduceMessage is Produce for a record with headers, which it does not copy. It ignores the
// message's time.
func (p *Producer) ProduceMessage(ctx context.Context, partition int32, m stream.Message) error {
	if err := p.err(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &kgo.Record{Topic: p.topic, Partition: partition}
	r.Key, r.Value = p.copies(m.Key, m.Value)
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	p.cl.Produce(ctx, r, p.done)
	return nil
}

// done is called with the outcome of each record.
func (p *Producer) done(r *kgo.Record, err error) {
	if err == nil {
		p.acked.Add(1)
		return
	}
	err = fmt.Errorf("produce to %s[%d]: %w", p.topic, r.Partition, err)
	p.first.CompareAndSwap(nil, &err)
}

func (p *Producer) err() error {
	if e := p.first.Load(); e != nil {
		return *e
	}
	return nil
}

// copies copies key and value into a block of memory that many records share, which saves two
// allocations per record.
func (p *Producer) copies(key, value []byte) (k, v []byte) {
	n := len(key) + len(value)
	if n == 0 || n > producerBlock/4 {
		return bytes.Clone(key), bytes.Clone(value)
	}
	p.mu.Lock()
	if cap(p.block)-len(p.block) < n {
		p.block = make([]byte, 0, producerBlock)
	}
	at := len(p.block)
	p.block = append(append(p.block, key...), value...)
	both := p.block[at : at+n : at+n]
	p.mu.Unlock()
	if key != nil {
		k = both[:len(key):len(key)]
	}
	if value != nil {
		v = both[len(key):]
	}
	return k, v
}

// Flush waits until every buffered record is acknowledged. It returns the first error of any
// record.
func (p *Producer) Flush(ctx context.Context) error {
	err := p.cl.Flush(ctx)
	if first := p.err(); first != nil {
		return first
	}
	if err != nil {
		return fmt.Errorf("flush %s: %w", p.topic, err)
	}
	return nil
}

// Acked returns the number of records that all in-sync replicas have.
func (p *Producer) Acked() int64 { return p.acked.Load() }

// Close closes the connections. Unacknowledged records are lost: call Flush first.
func (p *Producer) Close() {
	p.first.CompareAndSwap(nil, new(errors.New("the producer is closed")))
	p.cl.Close()
}
