package kafkaadmin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

// scanner reads partitions of one topic between offsets, with its own fetch requests. A consumer
// does not report that the records it waits for were compacted away, so its caller would have to
// guess by a timeout.
type scanner struct {
	cl           *kgo.Client
	topic        string
	detail       kadm.TopicDetail
	decompressor kgo.Decompressor
	bytes        int32 // bytes of a fetch
}

// openScanner connects to the brokers and returns a scanner of a topic. The caller closes its
// client.
func openScanner(ctx context.Context, k kafka.Cluster, topic string) (*scanner, error) {
	cl, err := k.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the brokers: %w", err)
	}
	s, err := newScanner(ctx, cl, topic)
	if err != nil {
		cl.Close()
		return nil, err
	}
	return s, nil
}

func newScanner(ctx context.Context, cl *kgo.Client, topic string) (*scanner, error) {
	s := &scanner{cl: cl, topic: topic, decompressor: kafka.Decompressor(cl), bytes: 4 << 20}
	return s, s.loadMetadata(ctx)
}

// loadMetadata reads the leaders of the partitions.
func (s *scanner) loadMetadata(ctx context.Context) error {
	adm := kadm.NewClient(s.cl)
	list, err := adm.ListTopics(ctx, s.topic)
	if err == nil {
		err = list[s.topic].Err
	}
	if err != nil {
		return fmt.Errorf("read the metadata of topic %s: %w", s.topic, kafka.NameUndescribed(ctx, adm, unknownTopic(err), s.topic))
	}
	s.detail = list[s.topic]
	return nil
}

func (s *scanner) partitions() []int32 {
	ps := s.detail.Partitions.Numbers()
	slices.Sort(ps)
	return ps
}

// checkPartitions returns an error if the topic does not have one of the partitions.
func (s *scanner) checkPartitions(list []int32) error {
	has := s.partitions()
	for _, p := range list {
		if !slices.Contains(has, p) {
			return fmt.Errorf("topic %s has no partition %d: it has %d", s.topic, p, len(has))
		}
	}
	return nil
}

// read calls fn for the committed records in [from, upto), in order. If a transaction is open below
// upto, it waits for its end, at most until ctx ends or the transaction times out.
func (s *scanner) read(ctx context.Context, p int32, from, upto int64, fn func(*kgo.Record)) error {
	for tries := 0; from < upto; {
		got, next, err := s.fetch(ctx, p, from)
		switch {
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, kerr.OffsetOutOfRange) && got.LogStartOffset > from: // retention deleted the first records
			from = got.LogStartOffset
			continue
		case err != nil && tries < 10 && isStaleLeader(err):
			tries++
			if err := s.reloadMetadata(ctx, tries); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("read %s[%d] at %d: %w", s.topic, p, from, err)
		}
		tries = 0
		for _, r := range got.Records {
			if r.Offset < upto {
				fn(r)
			}
		}
		if next == from && got.LastStableOffset >= upto {
			return nil // compaction removed all records from here on
		}
		from = next
	}
	return nil
}

// fetch requests the records from offset at on from the leader. If there are none, the broker waits
// half a second.
func (s *scanner) fetch(ctx context.Context, p int32, at int64) (kgo.FetchPartition, int64, error) {
	found, err := kafka.Fetch(ctx, s.cl, s.detail, kafka.FetchRange{Partition: p, Offset: at, MaxBytes: s.bytes})
	if err != nil {
		return kgo.FetchPartition{}, at, err
	}
	got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Offset: at, IsolationLevel: kgo.ReadCommitted(), Topic: s.topic, Partition: p,
	}, found, s.decompressor, nil)
	return got, next, got.Err
}

// isStaleLeader reports whether a fetch can succeed after the leaders were read again.
func isStaleLeader(err error) bool {
	return kerr.IsRetriable(err) || !errors.As(err, new(*kerr.Error))
}

func (s *scanner) reloadMetadata(ctx context.Context, tries int) error {
	if !pause.For(ctx, time.Duration(tries)*50*time.Millisecond) {
		return ctx.Err()
	}
	return s.loadMetadata(ctx)
}
