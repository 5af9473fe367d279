package kafkaadmin

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// ReadTopic calls fn for each record of a topic that was committed at the time of the call, one
// call at a time. The records of one partition come in order. If since is not zero, ReadTopic
// begins with the records of that time, by their timestamps. fn may keep key and value. A record
// with a nil value is a tombstone of a compacted topic.
func ReadTopic(ctx context.Context, k kafka.Cluster, topic string, since time.Time, fn func(partition int32, r stream.Record) error) error {
	return ReadPartitions(ctx, k, TopicRange{Topic: topic, Since: since}, fn)
}

// TopicRange is the records of some partitions of a topic.
type TopicRange struct {
	Topic      string
	Partitions []int32   // one that the topic does not have is an error. Defaults to all
	Since      time.Time // by the timestamps of the records. Defaults to all
}

// ReadPartitions is ReadTopic for some partitions.
func ReadPartitions(ctx context.Context, k kafka.Cluster, of TopicRange, fn func(partition int32, r stream.Record) error) error {
	topic, partitions := of.Topic, of.Partitions
	s, err := openScanner(ctx, k, topic)
	if err != nil {
		return err
	}
	defer s.cl.Close()
	if partitions == nil {
		partitions = s.partitions()
	}
	if err := s.checkPartitions(partitions); err != nil {
		return err
	}
	ends, err := committedEnds(ctx, s.cl, topic)
	if err != nil {
		return err
	}
	starts := kadm.ListedOffsets{}
	if !of.Since.IsZero() {
		if starts, err = kadm.NewClient(s.cl).ListOffsetsAfterMilli(ctx, of.Since.UnixMilli(), topic); err == nil {
			err = starts.Error()
		}
		if err != nil {
			return fmt.Errorf("read the offsets of %s at %s: %w", topic, of.Since.Format(time.RFC3339), err)
		}
	}
	type found struct {
		partition int32
		record    stream.Record
	}
	records := make(chan found, 1000)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(ageParallel)
	go func() {
		defer close(records)
		for _, p := range partitions {
			end, _ := ends.Lookup(topic, p)
			start, _ := starts.Lookup(topic, p)
			// Each reader has its own copy of the metadata, which it reloads when the partition's
			// leader moves.
			one := *s
			g.Go(func() error {
				return one.read(ctx, p, start.Offset, end.Offset, func(r *kgo.Record) {
					if r.Attrs.IsControl() {
						return
					}
					rec := stream.Record{Key: r.Key, Value: r.Value, Offset: r.Offset, TimeMs: r.Timestamp.UnixMilli()}
					for _, h := range r.Headers {
						rec.Headers = append(rec.Headers, stream.Header{Key: h.Key, Value: h.Value})
					}
					select {
					case records <- found{p, rec}:
					case <-ctx.Done():
					}
				})
			})
		}
		err = g.Wait()
	}()
	var failed error
	for f := range records {
		if failed == nil {
			if failed = fn(f.partition, f.record); failed != nil {
				cancel()
			}
		}
	}
	if failed != nil {
		return failed
	}
	return err
}

// Beginning is where the records of a partition begin.
type Beginning struct {
	// Offset is the first one that was not deleted: 0 if the partition has all its records.
	Offset int64
	// Time is the timestamp of the first committed record. If all records were deleted, it is the
	// time of the call: what comes later is newer. Zero: no record was ever committed.
	Time time.Time
}

// Beginnings returns where each of some partitions of a topic begins.
func Beginnings(ctx context.Context, k kafka.Cluster, topic string, partitions []int32) (map[int32]Beginning, error) {
	s, err := openScanner(ctx, k, topic)
	if err != nil {
		return nil, err
	}
	defer s.cl.Close()
	s.bytes = ageBytes
	if err := s.checkPartitions(partitions); err != nil {
		return nil, err
	}
	ranges, err := offsetRanges(ctx, s)
	if err != nil {
		return nil, err
	}
	list := map[int32]Beginning{}
	for _, p := range partitions {
		r := ranges[p]
		b := Beginning{Offset: r.start}
		if b.Time, err = s.firstTime(ctx, p, r.start, r.end); err != nil {
			return nil, err
		}
		if b.Time.IsZero() && r.start > 0 {
			b.Time = time.Now()
		}
		list[p] = b
	}
	return list, nil
}

// firstTime returns the timestamp of the first committed record in [from, upto); zero if there is
// none.
func (s *scanner) firstTime(ctx context.Context, p int32, from, upto int64) (at time.Time, err error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	found := false
	err = s.read(ctx, p, from, upto, func(r *kgo.Record) {
		if !found {
			found, at = true, r.Timestamp
			enough()
		}
	})
	if found {
		return at, nil
	}
	return at, err
}
