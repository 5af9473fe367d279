package sink

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/kafka"
)

// commitTimeout bounds each request of a commit, because a rebalance or a stop waits for it.
const commitTimeout = 3 * time.Second

// commitLoop commits once per CommitInterval until ctx ends.
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

// commit commits the done records of partitions; nil: of all partitions. After an error the next
// commit covers the records, or the next owner of the partition does them again.
func (c *Consumer) commit(ctx context.Context, list []*partition) {
	c.committing <- struct{}{}
	defer func() { <-c.committing }()
	ctx = context.WithoutCancel(ctx)
	c.readSkipped(ctx)
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	offsets, notes := c.uncommitted(list)
	if len(offsets) == 0 {
		return
	}
	c.cl.CommitOffsetsSync(withNotes(ctx, notes), map[string]map[int32]kgo.EpochOffset{c.cfg.Topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			if err == nil {
				err = c.committed(offsets, resp)
			}
			if err != nil {
				c.cfg.Log.Warn().Err(err).Str("topic", c.cfg.Topic).Str("group", c.cfg.Group).Msg("commit_failed")
			}
		})
}

// withNotes makes a commit write the metadata of some partitions.
func withNotes(ctx context.Context, notes map[int32]string) context.Context {
	return kgo.PreCommitFnContext(ctx, func(req *kmsg.OffsetCommitRequest) error {
		for _, t := range req.Topics {
			for i := range t.Partitions {
				if note, ok := notes[t.Partitions[i].Partition]; ok {
					t.Partitions[i].Metadata = &note
				}
			}
		}
		return nil
	})
}

// uncommitted returns the offsets to commit, by partition, and the metadata of those partitions in
// which something was skipped.
func (c *Consumer) uncommitted(list []*partition) (offsets map[int32]kgo.EpochOffset, notes map[int32]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if list == nil {
		list = c.order
	}
	offsets, notes = map[int32]kgo.EpochOffset{}, map[int32]string{}
	for _, p := range list {
		// A partition that was released, or assigned again since, must not be committed.
		if at := c.cfg.committable(p.partitionQueue); at > p.committed && at >= 0 && c.parts[p.n] == p && p.skippedRead {
			if offsets[p.n] = (kgo.EpochOffset{Epoch: p.epoch, Offset: at}); len(p.skipped) > 0 {
				notes[p.n] = kafka.EncodeSkipped(p.skipped)
			}
		}
	}
	return offsets, notes
}

// committed records the answer to a commit.
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
