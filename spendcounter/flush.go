package spendcounter

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/stream"
)

// maxBlobIDs is the number of ids in one value of TableIDs: 1 MiB.
const maxBlobIDs = 1 << 20 / 8

// Flush hands over the changes since the last Flush: spend and task record, and ids for the local
// table. Once per second of cm.NowMs it also hands over a SpendHistogram, whether anything changed
// or not.
func (c *Counter) Flush(cm stream.Commit, ch *stream.Changes) error {
	if c.broken != nil {
		return c.broken
	}
	c.flushSpend(&cm, ch)
	if c.changed {
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.state())
		if err != nil {
			return c.fail(fmt.Errorf("spend counter, partition %d: task record: %w", c.task.Partition, err))
		}
		ch.Put(TableTask, []byte(taskKey), value)
		c.changed = false
	}
	c.movedIDs.drop(c.window.number, ch)
	c.flushIDs(cm.Sequence, ch)
	if err := c.emitHealth(&cm, ch); err != nil {
		return c.fail(fmt.Errorf("spend counter, partition %d: health: %w", c.task.Partition, err))
	}
	c.cache.closeEpoch(c.cfg.CacheEntries)
	return nil
}

func (c *Counter) flushSpend(cm *stream.Commit, ch *stream.Changes) {
	at := c.asOf(cm)
	for _, n := range c.cache.dirty {
		e := &c.cache.list[n]
		c.scratch.value = c.appendSpend(c.scratch.value[:0], e, at)
		ch.Put(TableSpend, c.cache.key(e), c.scratch.value)
	}
}

// flushIDs writes the ids that the local table does not have, so that a restart does not read them
// from the log again.
func (c *Counter) flushIDs(sequence uint64, ch *stream.Changes) {
	w := &c.window
	switch {
	case w.clearLocal:
		ch.DeleteRange(TableIDs, blobKey(0, 0), blobKey(math.MaxUint64, math.MaxUint64))
		ch.Delete(TableRings, []byte(ringsKey))
	case w.rotated:
		ch.DeleteRange(TableIDs, blobKey(0, 0), blobKey(w.number-1, 0))
	}
	w.clearLocal, w.rotated = false, false
	for i, ids := range w.pending {
		generation := w.number - 1 + uint64(i)
		for blob := uint64(0); len(ids) > 0; blob++ {
			n := min(len(ids), maxBlobIDs)
			c.scratch.value = c.scratch.value[:0]
			for _, id := range ids[:n] {
				c.scratch.value = binary.BigEndian.AppendUint64(c.scratch.value, id)
			}
			// 2^16 blobs are 64 GiB of ids in one transaction.
			ch.Put(TableIDs, blobKey(generation, sequence<<16|blob), c.scratch.value)
			ids = ids[n:]
		}
		w.pending[i] = w.pending[i][:0]
	}
}

// blobKey returns a key of TableIDs.
func blobKey(generation, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, generation), sequence)
}
