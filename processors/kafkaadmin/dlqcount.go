package kafkaadmin

import (
	"context"
	"fmt"
	"maps"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// DeadLetterCounter counts the unresolved dead letters of a topic. It reads the topic again only if
// records were added or deleted since the last count.
type DeadLetterCounter struct {
	Kafka kafka.Cluster
	Topic string
	Limit int64 // a topic with more offsets is not read

	ranges map[int32]offsetRange // at the last count; nil before it
	counts map[string]int
}

// offsetRange is the offsets that a partition has.
type offsetRange struct{ start, end int64 }

// Count returns the dead letters by reason, and the number of offsets that the topic has. If these
// are more than Limit, counts is nil. The counts are those of the list of ListDeadLetters; memory
// holds the reasons only. Count is called by one goroutine at a time.
func (c *DeadLetterCounter) Count(ctx context.Context) (counts map[string]int, offsets int64, err error) {
	s, err := openScanner(ctx, c.Kafka, c.Topic)
	if err != nil {
		return nil, 0, err
	}
	defer s.cl.Close()
	now, err := offsetRanges(ctx, s)
	if err != nil {
		return nil, 0, err
	}
	for _, r := range now {
		offsets += max(0, r.end-r.start)
	}
	switch {
	case offsets > c.Limit:
		return nil, offsets, nil
	case c.ranges != nil && maps.Equal(c.ranges, now):
		return maps.Clone(c.counts), offsets, nil
	}
	counts = map[string]int{}
	for _, p := range s.partitions() {
		reasons, add := openLetters(func(r *kgo.Record) string { return parseDeadLetter(r).Reason })
		if err := s.read(ctx, p, now[p].start, now[p].end, add); err != nil {
			return nil, offsets, err
		}
		for _, reason := range reasons {
			counts[reason]++
		}
	}
	c.ranges, c.counts = now, counts
	return maps.Clone(counts), offsets, nil
}

// offsetRanges returns the committed range of each partition.
func offsetRanges(ctx context.Context, s *scanner) (map[int32]offsetRange, error) {
	starts, err := kadm.NewClient(s.cl).ListStartOffsets(ctx, s.topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the start offsets of %s: %w", s.topic, err)
	}
	ends, err := committedEnds(ctx, s.cl, s.topic)
	if err != nil {
		return nil, err
	}
	ranges := map[int32]offsetRange{}
	for _, p := range s.partitions() {
		start, _ := starts.Lookup(s.topic, p)
		end, _ := ends.Lookup(s.topic, p)
		ranges[p] = offsetRange{start.Offset, end.Offset}
	}
	return ranges, nil
}
