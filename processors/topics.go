package processors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/stream"
)

// topicsWait is how long a start waits for topics: those made a moment ago are not known to every broker yet.
const topicsWait = 5 * time.Second

// AwaitTopics is partitions, with patience for topics that are missing.
func AwaitTopics(ctx context.Context, p *stream.Processor, adm *kadm.Client) (n int32, err error) {
	until := time.Now().Add(topicsWait)
	for {
		n, err = partitions(ctx, p, adm)
		if !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.Is(err, kerr.LeaderNotAvailable) || time.Now().After(until) {
			return n, err
		}
		if pause.For(ctx, 200*time.Millisecond); ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
}

// partitions checks that all topics exist and are co-partitioned.
func partitions(ctx context.Context, p *stream.Processor, adm *kadm.Client) (int32, error) {
	list, err := adm.ListTopics(ctx, append(p.WrittenTopics(), p.Inputs...)...)
	if err != nil {
		return 0, fmt.Errorf("read topics: %w", err)
	}
	for _, t := range list.Sorted() {
		if t.Err != nil {
			return 0, fmt.Errorf("%w: topic %s: %w: create the topics with `weir topics apply`", ErrTopics, t.Topic, t.Err)
		}
	}
	want, as := len(list[p.Inputs[0]].Partitions), p.Inputs[0]+" has"
	if p.Partitions > 0 {
		want, as = int(p.Partitions), p.App+" needs"
	}
	for _, t := range list.Sorted() {
		joined := t.Topic == p.Changelog || t.Topic == p.DLQ || slices.Contains(p.Inputs, t.Topic)
		if joined && len(t.Partitions) != want {
			return 0, fmt.Errorf("%w: %s has %d partitions, %s %d: they must be equal, because partition p of each belongs to task p. Nothing was changed; another number of partitions needs new topics, with the state moved to them", ErrTopics, t.Topic, len(t.Partitions), as, want)
		}
	}
	return int32(want), nil
}
