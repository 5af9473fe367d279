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
	Oldest    time.Time // timestamp of the oldest pending record; zero without a pending record
	GivenUp   int       // records that Sink.GiveUp has taken, since this process has the partition
	Paused    bool      // fetching is paused, because the bounds of pending records are reached
	Err       error     // the last error of a record that is being retried; nil without a retry
	// Stopped is why the partition cannot be read until an operator decides where to continue, nil
	// if it can be read. errors.As gives a *kafka.UnreadableError.
	Stopped error
	Skipped []kafka.SkippedRange // what operators skipped, oldest first
}

// Status returns the state of the partitions that are assigned to this consumer.
func (c *Consumer) Status() []Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Status, 0, len(c.order))
	for _, p := range c.order {
		s := Status{
			Partition: p.n, Running: p.running, Retrying: p.retrying, GivenUp: p.givenUp, Paused: p.paused, Err: p.lastErr,
			Stopped: p.stopped, Skipped: slices.Clone(p.skipped),
		}
		for _, e := range p.entries {
			if !e.done {
				s.Pending++
				if s.Oldest.IsZero() || e.Time().Before(s.Oldest) {
					s.Oldest = e.Time()
				}
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int { return cmp.Compare(a.Partition, b.Partition) })
	return list
}

// fatal returns an error that concerns all partitions.
func (c *Consumer) fatal(fetches kgo.Fetches) (failed error) {
	fetches.EachError(func(_ string, _ int32, err error) {
		switch {
		case errors.Is(err, kgo.ErrClientClosed):
			failed = fmt.Errorf("read %s: %w", c.cfg.Topic, err)
		case errors.Is(err, kerr.FencedInstanceID):
			failed = fmt.Errorf("%w: another process joined group %s as %s: each process needs an instance name of its own",
				kafka.ErrInstance, c.cfg.Group, c.cfg.Instance)
		}
	})
	return failed
}

// position returns the offset to read next in a partition. It is called by the goroutine that
// polls.
func (c *Consumer) position(p *partition) kafka.Position {
	at := kafka.Position{Topic: c.cfg.Topic, Partition: p.n, Offset: p.next}
	if at.Offset < 0 { // nothing has been fetched
		at.Offset = c.cl.CommittedOffsets()[at.Topic][p.n].Offset // of a group without one: see startAt
	}
	return at
}

// fetchErrors pauses the partitions that could not be read, and stops those that cannot be read.
func (c *Consumer) fetchErrors(ctx context.Context, fetches kgo.Fetches) {
	fetches.EachError(func(topic string, n int32, err error) {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return
		}
		c.mu.Lock()
		p := c.parts[n]
		c.mu.Unlock()
		if topic != c.cfg.Topic || p == nil {
			c.cfg.Log.Warn().Err(err).Str("topic", topic).Int32("partition", n).Msg("fetch_failed")
			return
		}
		if final := p.failed.Failed(ctx, c.cfg.Kafka, c.position(p), err); final != nil {
			c.stop(ctx, p, final)
			return
		}
		c.cfg.Log.Warn().Err(err).Str("topic", topic).Int32("partition", n).Msg("fetch_failed")
		c.mu.Lock()
		defer c.mu.Unlock()
		c.fetchLater(p)
	})
}

// pauseFetches makes the client fetch no more of a partition. The mutex is held, from before the
// reason is noted in the partition: done continues a partition that has no reason.
func (c *Consumer) pauseFetches(p *partition) {
	c.cl.PauseFetchPartitions(map[string][]int32{c.cfg.Topic: {p.n}})
}

// fetchLater pauses a partition until retryFetches. The mutex is held.
func (c *Consumer) fetchLater(p *partition) {
	p.failing = true
	c.pauseFetches(p)
}

// stop stops a partition that cannot be read. Its position is committed once the records before it
// are done.
func (c *Consumer) stop(ctx context.Context, p *partition, final error) {
	at := c.position(p)
	why := c.cfg.Kafka.Unreadable(ctx, kafka.UnreadableError{Topic: at.Topic, Partition: at.Partition, Offset: at.Offset}, final)
	if c.skipTrimmed(p, why, final) {
		return
	}
	c.cfg.Log.Error().Err(why).Str("topic", at.Topic).Int32("partition", p.n).Msg("partition_stopped")
	c.mu.Lock()
	defer c.mu.Unlock()
	p.stopped, p.failing, p.next = why, false, at.Offset
	c.pauseFetches(p)
}

// retryFetches fetches again what has waited for it, unless the queue is full.
func (c *Consumer) retryFetches() {
	c.mu.Lock()
	var due []*partition
	for _, p := range c.order {
		if p.failing && !p.paused && !p.closing && (p.moved || p.failed.Due()) {
			p.failing, p.moved = false, false
			due = append(due, p)
		}
	}
	c.mu.Unlock()
	for _, p := range due {
		kafka.Resume(c.cl, c.position(p))
	}
}

// skipTrimmed continues after records that retention has deleted, if Sink.SkipTrimmed allows it and
// the error has no other cause.
func (c *Consumer) skipTrimmed(p *partition, why, cause error) bool {
	var lost *kafka.UnreadableError
	if !c.cfg.SkipTrimmed || !errors.As(why, &lost) || lost.Lost == 0 || !errors.Is(cause, kerr.OffsetOutOfRange) {
		return false
	}
	c.cfg.Log.Warn().Err(why).Str("topic", lost.Topic).Int32("partition", lost.Partition).Int64("lost", lost.Lost).Msg("records_skipped")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moveTo(p, lost.Offset+lost.Lost)
	return true
}

// moveTo lets retryFetches continue a partition at a later offset. The mutex is held.
func (c *Consumer) moveTo(p *partition, offset int64) {
	p.next, p.stopped, p.moved = offset, nil, true
	p.epoch = -1 // that of the skipped range is not known, and an older one does not reach the position
	c.fetchLater(p)
}
