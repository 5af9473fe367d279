package sink

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// numbers yields the numbers of partitions.
func numbers(list []*partition) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, p := range list {
			if !yield(p.n) {
				return
			}
		}
	}
}

// onAssigned runs on the client's goroutine, before a fetch of the new partitions.
func (c *Consumer) onAssigned(_ context.Context, cl *kgo.Client, got map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range got[c.cfg.Topic] {
		p := newPartition(c.callCtx, n) //nolint:contextcheck // its calls outlive this callback
		c.parts[n] = p
		c.order = append(c.order, p)
		c.cfg.Log.Info().Str("topic", c.cfg.Topic).Int32("partition", n).Msg("partition_assigned")
	}
	cl.ResumeFetchPartitions(got) // they may be paused since an earlier assignment
}

// onRevoked releases partitions while the group waits.
func (c *Consumer) onRevoked(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
	c.release(ctx, gone[c.cfg.Topic])
}

// onLost releases partitions that other members may already own: it does not wait and commits
// nothing.
func (c *Consumer) onLost(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(c.stopCalls(gone[c.cfg.Topic]))
}

// release waits for the calls of partitions, commits the done records, and drops the partitions.
func (c *Consumer) release(ctx context.Context, numbers []int32) {
	c.mu.Lock()
	list := c.stopCalls(numbers)
	c.mu.Unlock()
	if len(list) == 0 {
		return
	}
	grace := time.NewTimer(c.cfg.Grace)
	defer grace.Stop()
	for _, p := range list {
		select {
		case <-p.idle:
			continue
		case <-grace.C:
		}
		break
	}
	c.commit(ctx, list)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(list)
}

// stopCalls prevents further calls of partitions. The mutex is held.
func (c *Consumer) stopCalls(numbers []int32) (list []*partition) {
	for _, n := range numbers {
		p := c.parts[n]
		if p == nil || p.closing {
			continue
		}
		if p.closing = true; p.running == 0 {
			close(p.idle)
		}
		list = append(list, p)
	}
	return list
}

// drop removes partitions and cancels their calls. The mutex is held.
func (c *Consumer) drop(list []*partition) {
	for _, p := range list {
		p.cancel()
		for _, e := range p.entries {
			if e.timer != nil {
				e.timer.Stop()
			}
		}
		delete(c.parts, p.n)
		c.order = slices.DeleteFunc(c.order, func(o *partition) bool { return o == p })
		c.cfg.Log.Info().Str("topic", c.cfg.Topic).Int32("partition", p.n).Msg("partition_released")
	}
}
