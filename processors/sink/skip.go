package sink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/kafka"
)

// skipPoll is the time between two looks for instructions to skip.
const skipPoll = 2 * time.Second

// stopped returns the partitions that are stopped at records that cannot be read.
func (c *Consumer) stopped() (list []*partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.order {
		if p.stopped != nil && !p.closing && kafka.Skippable(p.stopped) {
			list = append(list, p)
		}
	}
	return list
}

// lookForSkips continues stopped partitions behind ranges that an operator has given up. The
// instruction is an offset of kafka.SkipGroup, with the range as its metadata. It is for one
// position: once the partition has continued, it has no effect.
func (c *Consumer) lookForSkips(ctx context.Context) {
	stopped := c.stopped()
	if len(stopped) == 0 || time.Since(c.looked) < skipPoll {
		return
	}
	c.looked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	given, err := kadm.NewClient(c.cl).FetchOffsets(ctx, kafka.SkipGroup(c.cfg.Group))
	if err != nil {
		if !errors.Is(err, kerr.GroupIDNotFound) {
			c.cfg.Log.Warn().Err(err).Str("topic", c.cfg.Topic).Msg("skip_poll_failed")
		}
		return
	}
	for _, p := range stopped {
		o, ok := given.Lookup(c.cfg.Topic, p.n)
		if !ok || o.Err != nil {
			continue
		}
		for _, s := range kafka.DecodeSkipped(o.Metadata) {
			if s.From == p.next && s.To > s.From {
				c.skip(p, s)
			}
		}
	}
}

// skip continues a stopped partition behind a range. The next commit has the position, and the
// range in its metadata.
func (c *Consumer) skip(p *partition, s kafka.SkippedRange) {
	c.cfg.Log.Warn().Str("topic", c.cfg.Topic).Int32("partition", p.n).Int64("from", s.From).Int64("to", s.To).Str("who", s.Who).Str("why", s.Why).Msg("range_skipped")
	c.mu.Lock()
	p.next, p.stopped, p.skipped = s.To, nil, append(p.skipped, s)
	p.epoch = -1 // that of the range is not known, and an older one does not reach the position
	full := p.paused
	c.mu.Unlock()
	kafka.Resume(c.cl, c.position(p))
	if full { // until records are done
		c.cl.PauseFetchPartitions(map[string][]int32{c.cfg.Topic: {p.n}})
	}
}

// readSkipped reads what was skipped in partitions that are newly assigned, from the metadata of
// the committed offsets. The commits of this process repeat it.
func (c *Consumer) readSkipped(ctx context.Context) error {
	c.mu.Lock()
	var fresh []*partition
	for _, p := range c.order {
		if !p.skippedRead {
			fresh = append(fresh, p)
		}
	}
	c.mu.Unlock()
	if len(fresh) == 0 {
		return nil
	}
	committed, err := kadm.NewClient(c.cl).FetchOffsets(ctx, c.cfg.Group)
	if err != nil {
		return fmt.Errorf("read the committed offsets of group %s: %w", c.cfg.Group, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range fresh {
		o, _ := committed.Lookup(c.cfg.Topic, p.n)
		if o.Err != nil {
			return fmt.Errorf("read the committed offset of group %s in partition %d: %w", c.cfg.Group, p.n, o.Err)
		}
		p.skipped, p.skippedRead = append(kafka.DecodeSkipped(o.Metadata), p.skipped...), true
	}
	return nil
}
