package spendcounter

import (
	"encoding/binary"
	"fmt"

	"github.com/weirhq/weir/stream"
)

// movedIDBytes is what an id takes in TableCarried: its hash and that of its account, by which another move finds its shard.
const movedIDBytes = 16

// movedIDs are the ids that came with the state of other shards: the inputs of this one do not have them. They are in the
// changelog, and go when their generation does.
type movedIDs struct {
	keys [][]byte // of TableCarried
}

// loadMovedIDs puts them into the duplicate set, beside what the inputs and the local table give.
func (c *Counter) loadMovedIDs() error {
	err := c.task.Scan(TableMovedIDs, nil, func(key, value []byte) error {
		if len(key) < 8 || len(value)%movedIDBytes != 0 {
			return fmt.Errorf("key %x with %d bytes is not of carried ids: rebuild the store from its changelog", key, len(value))
		}
		c.movedIDs.keys = append(c.movedIDs.keys, append([]byte(nil), key...))
		generation := binary.BigEndian.Uint64(key)
		if generation != c.window.number && generation+1 != c.window.number {
			return nil
		}
		for ; len(value) > 0; value = value[movedIDBytes:] {
			c.window.set.Restore(binary.BigEndian.Uint64(value), generation != c.window.number)
		}
		return nil
	})
	if err != nil {
		return c.fail(fmt.Errorf("spend counter, partition %d: read carried ids: %w", c.task.Partition, err))
	}
	return nil
}

// drop deletes those of generations that are forgotten.
func (k *movedIDs) drop(number uint64, ch *stream.Changes) {
	left := k.keys[:0]
	for _, key := range k.keys {
		if binary.BigEndian.Uint64(key)+1 >= number {
			left = append(left, key)
			continue
		}
		ch.Delete(TableMovedIDs, key)
	}
	k.keys = left
}
