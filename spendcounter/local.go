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
		return nil, fmt.Errorf("spend counter, partition %d: rings are corrupt: %w: rebuild the store from its changelog", c.task.Partition, err)
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

// load reads the ids of the local table, before the first record.
func (c *Counter) load() error {
	if c.loaded {
		return nil
	}
	c.loaded = true
	if err := c.loadMovedIDs(); err != nil {
		return err
	}
	if c.task.LocalNext == nil {
		return nil
	}
	for i, generation := range []uint64{c.window.number - 1, c.window.number} {
		prefix := binary.BigEndian.AppendUint64(nil, generation)
		err := c.task.Scan(TableIDs, prefix, func(key, value []byte) error {
			if len(value)%8 != 0 {
				return fmt.Errorf("key %x: %d bytes are not a whole number of ids: rebuild the store from its changelog", key, len(value))
			}
			for ; len(value) > 0; value = value[8:] {
				c.window.set.Restore(binary.BigEndian.Uint64(value), i == 0)
			}
			return nil
		})
		if err != nil {
			return c.fail(fmt.Errorf("spend counter, partition %d: read ids: %w", c.task.Partition, err))
		}
	}
	return nil
}
