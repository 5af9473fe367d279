package sink

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitTimeout bounds a commit: a rebalance or a stop waits for it.
const commitTimeout = 3 * time.Second

// commitLoop commits what is done from time to time, until ctx ends.
func (c *Consumer) commitLoop(ctx context.Context) {
	tick := time.NewTicker(c.cfg.CommitInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			c.commit(ctx, nil)
		}
	}
}

// commit commits what is done of partitions, nil for all. What fails is committed with the next, or done again by whoever
// has the partition then.
func (c *Consumer) commit(ctx context.Context, list []*partition) {
	c.committing <- struct{}{}
	defer func() { <-c.committing }()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	offsets := c.uncommitted(list)
	if len(offsets) == 0 {
		return
	}
	c.cl.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{c.cfg.Topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if err == nil {
				err = c.committed(offsets, resp)
			}
			if err != nil {
				c.cfg.Log.Warn().Err(err).Str("topic", c.cfg.Topic).Str("group", c.cfg.Group).Msg("commit_failed")
			}
		})
}

// uncommitted is what there is to commit.
func (c *Consumer) uncommitted(list []*partition) map[int32]kgo.EpochOffset {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list == nil {
		list = c.order
	}
	offsets := map[int32]kgo.EpochOffset{}
	for _, p := range list {
		// One that is gone, or another's by now, must not be committed any more.
		if at := c.cfg.committable(p.partitionQueue); at > p.committed && at >= 0 && c.parts[p.n] == p {
			offsets[p.n] = kgo.EpochOffset{Epoch: p.epoch, Offset: at}
		}
	}
	return offsets
}

func (c *Consumer) committed(offsets map[int32]kgo.EpochOffset, resp *kmsg.OffsetCommitResponse) (failed error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range resp.Topics {
		for _, rp := range t.Partitions {
			if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
				failed = err
			} else if p := c.parts[rp.Partition]; p != nil {
				p.committed = max(p.committed, offsets[rp.Partition].Offset)
			}
		}
	}
	return failed
}
