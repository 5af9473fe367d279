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
	held   map[int32]bool               // by Hold
	wake   kafka.Wake
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
	r := &Reader{
		Client: cl, kafka: k, topic: topic, next: map[int32]int64{}, failed: map[int32]*kafka.FailedFetch{}, held: map[int32]bool{},
	}
	for p, o := range at {
		r.next[p] = o.EpochOffset().Offset
	}
	return r, nil
}

const (
	// longestPoll bounds a poll: partitions may have to be fetched again, and the client may stand
	// still.
	longestPoll = time.Second
	// startWait bounds the request for the start of the log.
	startWait = 3 * time.Second
)

// Poll waits for at most limit records. unreadable has the partitions that cannot be read behind
// these records, each with the error of kafka.FailedFetch. They are tried again, and returned
// again, until the caller leaves them; after errors that may pass nothing is returned.
func (r *Reader) Poll(ctx context.Context, limit int) (fetches kgo.Fetches, unreadable map[int32]error) {
	unreadable = map[int32]error{}
	for p, f := range r.failed {
		if !r.held[p] && f.Due() {
			r.resume(ctx, p, unreadable)
		}
	}
	bounded, cancel := context.WithTimeout(ctx, longestPoll)
	defer cancel()
	r.wake.Look(r.Client)
	fetches = r.PollRecords(bounded, limit)
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		if n := len(fp.Records); n > 0 && r.reads(fp.Partition) {
			r.next[fp.Partition] = fp.Records[n-1].Offset + 1
			delete(r.failed, fp.Partition)
		}
	})
	fetches.EachError(func(topic string, p int32, err error) {
		switch {
		case bounded.Err() != nil && errors.Is(err, bounded.Err()):
		case topic != r.topic || p < 0: // of the topic, or of the broker
			for p := range r.next {
				r.fail(ctx, p, err, unreadable)
			}
		case r.reads(p):
			r.fail(ctx, p, err, unreadable)
		}
	})
	return fetches, unreadable
}

func (r *Reader) reads(p int32) bool {
	_, ok := r.next[p]
	return ok
}

// fail takes an error of a partition and pauses it.
func (r *Reader) fail(ctx context.Context, p int32, err error, unreadable map[int32]error) {
	if r.failed[p] == nil {
		r.failed[p] = &kafka.FailedFetch{}
	}
	// A context that ends the poll early must not end the check, which bounds itself.
	if final := r.failed[p].Failed(context.WithoutCancel(ctx), r.kafka, kafka.Position{Topic: r.topic, Partition: p, Offset: r.next[p]},
		err); final != nil {
		unreadable[p] = final
	}
	r.PauseFetchPartitions(map[string][]int32{r.topic: {p}})
}

// resume reads a partition on, from the first offset that was not returned.
func (r *Reader) resume(ctx context.Context, p int32, unreadable map[int32]error) {
	if r.next[p] < 0 {
		ctx, cancel := context.WithTimeout(ctx, startWait)
		defer cancel()
		start, err := kafka.StartOffset(ctx, r.Client, r.topic, p)
		if err != nil {
			r.fail(ctx, p, err, unreadable)
			return
		}
		r.next[p] = start
	}
	kafka.Resume(r.Client, kafka.Position{Topic: r.topic, Partition: p, Offset: r.next[p]})
}

// Hold keeps a partition from being read until Continue.
func (r *Reader) Hold(p int32) {
	if r.reads(p) {
		r.held[p] = true
		r.PauseFetchPartitions(map[string][]int32{r.topic: {p}})
	}
}

// Continue ends Hold. A partition that failed is still fetched again only when that is due.
func (r *Reader) Continue(p int32) {
	if !r.held[p] {
		return
	}
	delete(r.held, p)
	switch {
	case r.failed[p] != nil:
	case r.next[p] < 0: // nothing has moved the client
		r.ResumeFetchPartitions(map[string][]int32{r.topic: {p}})
	default:
		kafka.Resume(r.Client, kafka.Position{Topic: r.topic, Partition: p, Offset: r.next[p]})
	}
}

// Leave ends the reading of a partition.
func (r *Reader) Leave(p int32) {
	delete(r.next, p)
	delete(r.failed, p)
	delete(r.held, p)
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
