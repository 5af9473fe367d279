package sink

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/kafka"
)

// skipPoll is the time between two looks for instructions to skip.
const skipPoll = 2 * time.Second

// stopped returns the partitions that are stopped at records that cannot be read, and of which it
// is known what was skipped.
func (c *Consumer) stopped() (list []*partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.order {
		if p.stopped != nil && p.skippedRead && !p.closing && kafka.Skippable(p.stopped) {
			list = append(list, p)
		}
	}
	return list
}

// lookForSkips continues stopped partitions behind ranges that an operator has given up. The
// instruction is an offset of kafka.SkipGroup, with the range as its metadata. It is for one
// position, and has no effect once it was carried out: also if the position is set back.
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
			if s.From == p.next && s.To > s.From && !p.hasSkipped(s) {
				c.skip(p, s)
			}
		}
	}
}

// hasSkipped reports whether an instruction was carried out. It is called by the goroutine that
// polls, once skippedRead is true.
func (p *partition) hasSkipped(s kafka.SkippedRange) bool {
	return slices.ContainsFunc(p.skipped, func(o kafka.SkippedRange) bool { return o.From == s.From && o.To == s.To && o.At.Equal(s.At) })
}

// skip continues a stopped partition behind a range. The next commit has the position, and the
// range in its metadata.
func (c *Consumer) skip(p *partition, s kafka.SkippedRange) {
	c.cfg.Log.Warn().Str("topic", c.cfg.Topic).Int32("partition", p.n).Int64("from", s.From).Int64("to", s.To).Str("who", s.Who).
		Str("why", s.Why).Msg("range_skipped")
	c.mu.Lock()
	defer c.mu.Unlock()
	p.skipped = append(p.skipped, s)
	c.moveTo(p, s.To)
}

// readSkipped reads what was skipped in partitions that are newly assigned, from the metadata of
// the committed offsets. The commits of this process repeat it. A partition for which it fails is
// not committed until a later call succeeds.
func (c *Consumer) readSkipped(ctx context.Context) {
	c.mu.Lock()
	var fresh []*partition
	for _, p := range c.order {
		if !p.skippedRead {
			fresh = append(fresh, p)
		}
	}
	c.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	committed, err := kadm.NewClient(c.cl).FetchOffsets(ctx, c.cfg.Group)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range fresh {
		o, _ := committed.Lookup(c.cfg.Topic, p.n)
		if failed := cmp.Or(err, o.Err); failed != nil {
			c.cfg.Log.Warn().Err(failed).Str("topic", c.cfg.Topic).Int32("partition", p.n).Str("group", c.cfg.Group).Msg("skipped_not_read")
			continue
		}
		p.skipped, p.skippedRead = append(kafka.DecodeSkipped(o.Metadata), p.skipped...), true
	}
}
