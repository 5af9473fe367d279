package changelog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// NewReader returns a client that reads partitions of a topic from the offsets at. It returns
// committed records and control records.
func NewReader(k kafka.Cluster, topic string, at map[int32]kgo.Offset, opts ...kgo.Opt) (*kgo.Client, error) {
	cl, err := k.Client(append([]kgo.Opt{
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
	}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return cl, nil
}

// Position is an offset in a partition.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
}

// ReadPartition calls fn for each committed record and control record of one partition. It returns
// when fn returns ErrEnd or another error.
func ReadPartition(ctx context.Context, k kafka.Cluster, from Position, fn func(*kgo.Record) error) error {
	cl, err := NewReader(k, from.Topic, map[int32]kgo.Offset{from.Partition: kgo.NewOffset().At(from.Offset)},
		kgo.FetchMaxPartitionBytes(4<<20), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		fetches := cl.PollRecords(ctx, 10_000)
		for _, e := range fetches.Errors() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if kafka.StopsPartition(e.Err) {
				return e.Err
			}
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if err := fn(it.Next()); errors.Is(err, ErrEnd) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}
