package spendcounter

import (
	"encoding/binary"
	"fmt"

	"github.com/weirhq/weir/stream"
)

// carriedBytes is what an id takes in TableCarried: its hash and that of its account, by which another move finds its shard.
const carriedBytes = 16

// carried are the ids that came with the state of other shards: the inputs of this one do not have them. They are in the
// changelog, and go when their generation does.
type carried struct {
	keys [][]byte // of TableCarried
}

// loadCarried puts them into the duplicate set, beside what the inputs and the local table give.
func (c *Counter) loadCarried() error {
	err := c.task.Scan(TableCarried, nil, func(key, value []byte) error {
		if len(key) < 8 || len(value)%carriedBytes != 0 {
			return fmt.Errorf("key %x with %d bytes is not of carried ids: rebuild the store from its changelog", key, len(value))
		}
		c.carried.keys = append(c.carried.keys, append([]byte(nil), key...))
		generation := binary.BigEndian.Uint64(key)
		if generation != c.window.number && generation+1 != c.window.number {
			return nil
		}
		for ; len(value) > 0; value = value[carriedBytes:] {
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
func (k *carried) drop(number uint64, ch *stream.Changes) {
	left := k.keys[:0]
	for _, key := range k.keys {
		if binary.BigEndian.Uint64(key)+1 >= number {
			left = append(left, key)
			continue
		}
		ch.Delete(TableCarried, key)
	}
	k.keys = left
}
