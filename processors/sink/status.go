package sink

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// Status is the state of one partition.
type Status struct {
	Partition int32
	Pending   int       // records that were fetched and are not done
	Running   int       // pending records for which Do is running
	Retrying  int       // pending records that have failed; each holds up the later records of its key
	Oldest    time.Time // timestamp of the oldest pending record, zero if there is none
	Paused    bool      // fetching is paused, because the bounds of pending records are reached
	Err       error     // the last error of a record that is being retried, nil if there is none
	// Stopped is why the partition cannot be read until an operator decides where to continue, nil
	// if it can be read. errors.As gives a *kafka.UnreadableError.
	Stopped error
}

// Status returns the state of the partitions that are assigned to this consumer.
func (c *Consumer) Status() []Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Status, 0, len(c.order))
	for _, p := range c.order {
		s := Status{Partition: p.n, Running: p.running, Retrying: p.retrying, Paused: p.paused, Err: p.lastErr, Stopped: p.stopped}
		for _, e := range p.entries {
			if !e.done {
				s.Pending++
				if s.Oldest.IsZero() || e.Time.Before(s.Oldest) {
					s.Oldest = e.Time
				}
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Partition, b.Partition) })
	return list
}

// fetchErrors stops the partitions that cannot be read. It returns an error that concerns all
// partitions.
func (c *Consumer) fetchErrors(ctx context.Context, fetches kgo.Fetches) (failed error) {
	fetches.EachError(func(topic string, n int32, err error) {
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
			return
		case errors.Is(err, kgo.ErrClientClosed):
			failed = fmt.Errorf("read %s: %w", c.cfg.Topic, err)
			return
		case errors.Is(err, kerr.FencedInstanceID):
			failed = fmt.Errorf("%w: another process joined group %s as %s: each process needs an instance name of its own", kafka.ErrInstance, c.cfg.Group, c.cfg.Instance)
			return
		}
		c.mu.Lock()
		p := c.parts[n]
		at := kafka.UnreadableError{Topic: topic, Partition: n}
		if p != nil {
			at.Offset = p.next
		}
		c.mu.Unlock()
		if topic != c.cfg.Topic || p == nil || !kafka.StopsPartition(err) {
			c.cfg.Log.Warn().Err(err).Str("topic", topic).Int32("partition", n).Msg("fetch_failed")
			return
		}
		if at.Offset < 0 { // nothing has been fetched
			at.Offset = c.cl.CommittedOffsets()[topic][n].Offset
		}
		why := c.cfg.Kafka.Unreadable(ctx, at, err)
		if c.skipTrimmed(why, err) {
			return
		}
		c.cl.PauseFetchPartitions(map[string][]int32{topic: {n}})
		c.mu.Lock()
		defer c.mu.Unlock()
		p.stopped = why
		c.cfg.Log.Error().Err(why).Str("topic", topic).Int32("partition", n).Msg("partition_stopped")
	})
	return failed
}

// skipTrimmed continues after records that retention has deleted, if Sink.SkipTrimmed allows it and
// the error has no other cause.
func (c *Consumer) skipTrimmed(why, cause error) bool {
	var lost *kafka.UnreadableError
	if !c.cfg.SkipTrimmed || !errors.As(why, &lost) || lost.Lost == 0 || !errors.Is(cause, kerr.OffsetOutOfRange) {
		return false
	}
	c.cfg.Log.Warn().Err(why).Str("topic", lost.Topic).Int32("partition", lost.Partition).Int64("lost", lost.Lost).Msg("records_skipped")
	c.cl.SetOffsets(map[string]map[int32]kgo.EpochOffset{lost.Topic: {lost.Partition: {Epoch: -1, Offset: lost.Offset + lost.Lost}}})
	return true
}
