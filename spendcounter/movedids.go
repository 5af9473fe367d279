package spendcounter

import (
	"encoding/binary"
	"fmt"

	"github.com/weirhq/weir/stream"
)

// movedIDBytes is the size of an id in TableMovedIDs: its hash and the hash of its account. A later
// repartition needs the account to find the shard.
const movedIDBytes = 16

// movedIDs are the ids that came with the state of other shards and are not in the inputs of this
// one. They are in the changelog, and are deleted with their generation.
type movedIDs struct {
	keys [][]byte // of TableMovedIDs
}

// loadMovedIDs adds them to the duplicate set, in addition to the ids of the inputs and of the
// local table.
func (c *Counter) loadMovedIDs() error {
	err := c.task.Scan(TableMovedIDs, nil, func(key, value []byte) error {
		if len(key) < 8 || len(value)%movedIDBytes != 0 {
			return fmt.Errorf("key %x with %d bytes is not a key of moved ids: rebuild the store from its changelog", key, len(value))
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
		return c.fail(fmt.Errorf("spend counter, partition %d: read moved ids: %w", c.task.Partition, err))
	}
	return nil
}

// drop deletes the ids of generations that are forgotten.
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
