package spendcounter

import (
	"encoding/binary"
	"fmt"

	"github.com/weirhq/weir/stream"
)

// movedIDBytes is the size of an id in TableMovedIDs: the id and the hash of its account. A later
// repartition needs the account to find the shard.
const movedIDBytes = 16

// movedIDs are the ids that came with the state of other shards and are not in the inputs of this
// one. They are in the changelog, and are deleted with their bucket.
type movedIDs struct {
	keys [][]byte // of TableMovedIDs
}

// restoreMovedIDs reads their keys.
func (c *Counter) restoreMovedIDs() error {
	err := c.task.Scan(TableMovedIDs, nil, func(key, _ []byte) error {
		if len(key) < 8 {
			return fmt.Errorf("key %x is not a key of moved ids: rebuild the store from its changelog", key)
		}
		c.movedIDs.keys = append(c.movedIDs.keys, append([]byte(nil), key...))
		return nil
	})
	if err != nil {
		return fmt.Errorf("spend counter, partition %d: read moved ids: %w", c.task.Partition, err)
	}
	return nil
}

// each passes the ids of b, and the hashes of their accounts, to fn. It must not be called for a
// bucket that began again and was not flushed since.
func (k *movedIDs) each(t *stream.Task, b *bucket, fn func(id, account uint64) error) error {
	for _, key := range k.keys {
		if !b.covers(int64(binary.BigEndian.Uint64(key))) {
			continue
		}
		value, err := t.Get(TableMovedIDs, key)
		if err != nil {
			return err
		}
		if len(value)%movedIDBytes != 0 {
			return fmt.Errorf("key %x: %d bytes are not a whole number of moved ids: rebuild the store from its changelog", key, len(value))
		}
		for ; len(value) > 0; value = value[movedIDBytes:] {
			if err := fn(binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:])); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop deletes the ids of buckets that are forgotten.
func (k *movedIDs) drop(w *window, ch *stream.Changes) {
	left := k.keys[:0]
	for _, key := range k.keys {
		if b := w.covering(int64(binary.BigEndian.Uint64(key))); b != nil && !b.begun {
			left = append(left, key)
			continue
		}
		ch.Delete(TableMovedIDs, key)
	}
	k.keys = left
}
