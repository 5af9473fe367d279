package spendcounter

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/spendcounter/spendpb"
)

// localState returns the rings as a record.
func (c *Counter) localState() *spendpb.LocalState {
	p := &c.health.processing
	s := &spendpb.LocalState{Processing: &spendpb.Ring{HeadMs: p.Head(), Seconds: p.Seconds(nil)}, AsOf: c.currentMark()}
	for i := range c.origins {
		o := &c.origins[i]
		s.Origins = append(s.Origins, &spendpb.Ring{Dc: o.dc, HeadMs: o.ring.Head(), Seconds: o.ring.Seconds(nil)})
	}
	return s
}

// restoreRings reads the rings of the local table, and returns the offsets up to which they count.
// Nil: the table has none.
func (c *Counter) restoreRings() (*spendpb.Mark, error) {
	if c.task.LocalNext == nil {
		c.window.clearLocal = true
		return nil, nil
	}
	value, err := c.task.Get(TableRings, []byte(ringsKey))
	if err != nil {
		return nil, fmt.Errorf("spend counter, partition %d: read rings: %w", c.task.Partition, err)
	}
	s := &spendpb.LocalState{}
	if err := proto.Unmarshal(value, s); err != nil {
		return nil, fmt.Errorf("spend counter, partition %d: rings are corrupt: %w: rebuild the store from its changelog", c.task.Partition,
			err)
	}
	if s.AsOf == nil {
		return nil, nil
	}
	c.health.processing.Restore(s.Processing.GetHeadMs(), s.Processing.GetSeconds())
	for _, r := range s.Origins {
		for i := range c.origins {
			if c.origins[i].dc == r.Dc {
				c.origins[i].ring.Restore(r.HeadMs, r.Seconds)
			}
		}
	}
	return s.AsOf, nil
}

// loadBucket reads the ids of b into memory.
func (c *Counter) loadBucket(b *bucket) error {
	b.set = c.window.newSet()
	err := c.movedIDs.each(&c.task, b, func(id, _ uint64) error {
		b.set.Insert(id)
		return nil
	})
	if err == nil && !c.window.clearLocal {
		err = c.task.Scan(TableIDs, bucketKey(b.from), func(key, value []byte) error {
			if len(key) == 16 && binary.BigEndian.Uint64(key[8:]) < b.sequence<<blobBits {
				return nil // an old store has ids that are forgotten
			}
			if len(value)%8 != 0 || len(key) != 16 {
				return fmt.Errorf("key %x: %d bytes are not a whole number of ids: rebuild the store from its changelog", key, len(value))
			}
			for ; len(value) > 0; value = value[8:] {
				b.set.Insert(binary.BigEndian.Uint64(value))
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("spend counter, partition %d: read ids: %w", c.task.Partition, err)
	}
	for _, id := range b.pending {
		b.set.Insert(id)
	}
	b.room = c.window.maxIDs/2 - b.set.Len()
	return nil
}
