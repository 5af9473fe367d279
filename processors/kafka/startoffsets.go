package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ExplicitStarts replaces the start of the log by its present offset. It is for
// kgo.AdjustFetchOffsetsFn of each member of a group that is read with Resume: without an offset of
// its own, a partition of which no offset was ever committed cannot be set to another one.
func (k Cluster) ExplicitStarts(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var topics []string
	for topic, partitions := range offsets {
		for _, o := range partitions {
			if isStart(o) {
				topics = append(topics, topic)
				break
			}
		}
	}
	if len(topics) == 0 {
		return offsets, nil
	}
	cl, err := k.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	starts, err := kadm.NewClient(cl).ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("read the start offsets of %v: %w", topics, err)
	}
	for _, topic := range topics {
		for p, o := range offsets[topic] {
			if !isStart(o) {
				continue
			}
			start, err := startOf(starts, topic, p)
			if err != nil {
				return nil, err
			}
			offsets[topic][p] = kgo.NewOffset().At(start)
		}
	}
	return offsets, nil
}

func isStart(o kgo.Offset) bool { return o.EpochOffset() == kgo.NewOffset().AtStart().EpochOffset() }

// StartOffset asks the brokers for the first offset of a partition.
func StartOffset(ctx context.Context, cl *kgo.Client, topic string, p int32) (int64, error) {
	starts, err := kadm.NewClient(cl).ListStartOffsets(ctx, topic)
	if err != nil {
		return 0, fmt.Errorf("read the start of %s[%d]: %w", topic, p, err)
	}
	return startOf(starts, topic, p)
}

func startOf(starts kadm.ListedOffsets, topic string, p int32) (int64, error) {
	start, ok := starts.Lookup(topic, p)
	switch {
	case !ok:
		return 0, fmt.Errorf("read the start of %s[%d]: the brokers did not answer for it", topic, p)
	case start.Err != nil:
		return 0, fmt.Errorf("read the start of %s[%d]: %w", topic, p, start.Err)
	}
	return start.Offset, nil
}
