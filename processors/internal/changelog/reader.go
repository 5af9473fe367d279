package changelog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// Reader reads partitions of one topic from given offsets: committed records and control records.
// Its methods are for one goroutine.
type Reader struct {
	*kgo.Client
	kafka  kafka.Cluster
	topic  string
	next   map[int32]int64              // the offset to read next; negative: the start of the log
	failed map[int32]*kafka.FailedFetch // partitions that could not be read at it
}

// NewReader returns a Reader of partitions of a topic from the offsets at. Close it.
func NewReader(k kafka.Cluster, topic string, at map[int32]kgo.Offset, opts ...kgo.Opt) (*Reader, error) {
	cl, err := k.Client(append([]kgo.Opt{
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
	}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	r := &Reader{Client: cl, kafka: k, topic: topic, next: map[int32]int64{}, failed: map[int32]*kafka.FailedFetch{}}
	for p, o := range at {
		r.next[p] = o.EpochOffset().Offset
	}
	return r, nil
}

// retryPoll bounds a poll while a partition waits to be fetched again.
const retryPoll = time.Second

// Poll waits for at most limit records. unreadable has the partitions that cannot be read behind
// these records, each with the error of kafka.FailedFetch. They are tried again, and returned
// again, until the caller leaves them; after errors that may pass nothing is returned.
func (r *Reader) Poll(ctx context.Context, limit int) (fetches kgo.Fetches, unreadable map[int32]error) {
	for p, f := range r.failed {
		if f.Due() {
			kafka.Resume(r.Client, kafka.Position{Topic: r.topic, Partition: p, Offset: r.next[p]})
		}
	}
	bounded := ctx
	if len(r.failed) > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, retryPoll)
		defer cancel()
	}
	fetches = r.PollRecords(bounded, limit)
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		if n := len(fp.Records); n > 0 {
			r.next[fp.Partition] = fp.Records[n-1].Offset + 1
			delete(r.failed, fp.Partition)
		}
	})
	unreadable = map[int32]error{}
	fetches.EachError(func(_ string, p int32, err error) {
		at, reads := r.next[p]
		if !reads || bounded.Err() != nil && errors.Is(err, bounded.Err()) {
			return
		}
		if r.failed[p] == nil {
			r.failed[p] = &kafka.FailedFetch{}
		}
		// A context that ends the poll early must not end the check, which bounds itself.
		if final := r.failed[p].Failed(context.WithoutCancel(ctx), r.kafka, kafka.Position{Topic: r.topic, Partition: p, Offset: at}, err); final != nil {
			unreadable[p] = final
		}
		r.PauseFetchPartitions(map[string][]int32{r.topic: {p}})
	})
	return fetches, unreadable
}

// Leave ends the reading of a partition.
func (r *Reader) Leave(p int32) {
	delete(r.failed, p)
	r.PauseFetchPartitions(map[string][]int32{r.topic: {p}})
}

// ReadPartition calls fn for each committed record and control record of one partition. It returns
// when fn returns ErrEnd or another error, or when the partition cannot be read.
func ReadPartition(ctx context.Context, k kafka.Cluster, from kafka.Position, fn func(*kgo.Record) error) error {
	r, err := NewReader(k, from.Topic, map[int32]kgo.Offset{from.Partition: kgo.NewOffset().At(from.Offset)},
		kgo.FetchMaxPartitionBytes(4<<20), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		fetches, unreadable := r.Poll(ctx, 10_000)
		if err := ctx.Err(); err != nil {
			return err
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if err := fn(it.Next()); errors.Is(err, ErrEnd) {
				return nil
			} else if err != nil {
				return err
			}
		}
		if err := unreadable[from.Partition]; err != nil {
			return err
		}
	}
}
