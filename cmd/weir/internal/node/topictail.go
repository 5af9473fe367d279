package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

// topicTail reads what is written to a topic of this datacentre, or of another one in the Kafka
// there. What it reads soon loses its worth. So it keeps no position, begins at the end of the log,
// and begins there again after an error. No other work waits for it.
type topicTail struct {
	kafka  kafka.Cluster
	topic  string
	shards int
	unread func(partition int32, err error) // reports an error
	reader *logreader.Reader                // of all partitions

	asking chan struct{} // has a token while the brokers are asked
	askAt  time.Time     // of the last answer or error
	ends   logreader.Extents
	failed error // in place of ends
}

const (
	// tailReaderBytes bounds what is read ahead of a partition.
	tailReaderBytes = 64 << 10
	// tailFetchBytes bounds one fetch of a broker.
	tailFetchBytes = 1 << 20
	// tailBatchBytes is the size of what is read at once.
	tailBatchBytes = 64 << 10
	// tailRetry is the time until the brokers are asked again after an error.
	tailRetry = 10 * time.Second
	// tailAsk bounds a question to the brokers, and is the greatest age of its answer.
	tailAsk = 10 * time.Second
)

// newTopicTail returns the tail of a topic. unread reports an error, at most once a minute.
func newTopicTail(k kafka.Cluster, topic string, shards int32, unread func(partition int32, err error)) *topicTail {
	var reported minute
	return &topicTail{
		kafka: k, topic: topic, shards: int(shards),
		unread: func(partition int32, err error) {
			if reported.first() {
				unread(partition, err)
			}
		},
		reader: logreader.New(logreader.Config{Kafka: k, Partitions: int(shards), QueueBytes: tailReaderBytes, FetchBytes: tailFetchBytes}),
		asking: make(chan struct{}, 1),
	}
}

// tailBytes is the memory of a tail.
func tailBytes(shards int32) int64 { return tailFetchBytes + tailReaderBytes*int64(shards) }

// read calls fn for each record that is written to a partition from now on, until ctx ends. After
// an error of fn it begins again.
func (t *topicTail) read(ctx context.Context, partition int32, fn func(*logreader.Record) error) {
	for ctx.Err() == nil {
		err := t.follow(ctx, partition, fn)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errNoTopic) {
			t.unread(partition, err)
		}
		pause.For(ctx, tailRetry)
	}
}

// follow is read until the first error.
func (t *topicTail) follow(ctx context.Context, partition int32, fn func(*logreader.Record) error) error {
	at, err := t.end(ctx, partition)
	if err != nil {
		return err
	}
	part, err := t.reader.Open(t.topic, partition, at) //nolint:contextcheck // Close ends the reading
	if err != nil {
		return fmt.Errorf("read %s: %w", t.topic, err)
	}
	defer part.Close()
	var b logreader.Batch
	for {
		if err := part.Next(ctx, &b, tailBatchBytes); err != nil {
			return err
		}
		for i := range b.Records {
			if err := fn(&b.Records[i]); err != nil {
				return fmt.Errorf("offset %d of %s: %w", b.Records[i].Offset, t.topic, err)
			}
		}
	}
}

// errNoTopic means that the topic does not exist: a datacentre does not pace campaigns, or its
// topics are those of an earlier version.
var errNoTopic = errors.New("the topic does not exist")

// end returns the end of a partition a moment ago. One answer of the brokers is for all partitions.
func (t *topicTail) end(ctx context.Context, partition int32) (at logreader.Position, err error) {
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return at, ctx.Err()
	}
	if time.Since(t.askAt) >= tailAsk {
		ctx, cancel := context.WithTimeout(ctx, tailAsk)
		defer cancel()
		t.ends, t.failed = logreader.DescribeExtent(ctx, t.kafka, t.topic)
		t.askAt = time.Now()
	}
	switch n := len(t.ends.Partitions); {
	case t.failed != nil:
		return at, t.failed
	case n == 0:
		return at, errNoTopic
	case n != t.shards:
		return at, &logreader.PartitionsError{Topic: t.topic, Has: n, Want: t.shards}
	}
	return t.ends.EndOf(partition), nil
}
