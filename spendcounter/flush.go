package spendcounter

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// maxBlobIDs is the number of ids in one value of TableIDs: 32 KiB. The store has each larger value
// in a block of its own, and where a byte of a block is damaged, it looks for the flipped bit with
// eight checksums of the block for each byte: a second for 32 KiB, and minutes for 1 MiB.
const maxBlobIDs = 32 << 10 / 8

// Flush hands over the changes since the last Flush: spend and task record, and ids for the local
// table. Once per second of cm.NowMs it also hands over the health row, behind all other rows,
// whether anything changed or not.
func (c *Counter) Flush(cm stream.Commit, ch *stream.Changes) error {
	if c.broken != nil {
		return c.broken
	}
	if err := c.moveClosed(ch); err != nil {
		return c.fail(err)
	}
	if err := c.loadUnread(); err != nil {
		return c.fail(err)
	}
	if err := c.flushSpend(&cm, ch); err != nil {
		return c.fail(err)
	}
	if err := c.flushReferences(ch); err != nil {
		return c.fail(err)
	}
	c.flushImports(ch)
	if err := c.flushMinutes(&cm, ch); err != nil {
		return c.fail(fmt.Errorf("spend counter, partition %d: audit: %w", c.task.Partition, err))
	}
	if err := c.flushBuckets(cm.Sequence, ch); err != nil {
		return c.fail(fmt.Errorf("spend counter, partition %d: %w", c.task.Partition, err))
	}
	c.closeDays()
	if c.changed {
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(c.state())
		if err != nil {
			return c.fail(fmt.Errorf("spend counter, partition %d: task record: %w", c.task.Partition, err))
		}
		ch.Put(TableTask, []byte(TaskKey), value)
		c.changed = false
	}
	if err := c.flushHealth(&cm, ch); err != nil {
		return c.fail(fmt.Errorf("spend counter, partition %d: health: %w", c.task.Partition, err))
	}
	c.cache.closeEpoch(c.cfg.CacheEntries)
	return nil
}

func (c *Counter) flushSpend(cm *stream.Commit, ch *stream.Changes) error {
	if c.unranked {
		if err := c.rankAll(ch); err != nil {
			return fmt.Errorf("spend counter, partition %d: rank campaigns: %w", c.task.Partition, err)
		}
	}
	at := c.asOf(cm)
	for _, n := range c.cache.dirty {
		e := &c.cache.list[n]
		if err := c.rank(e); err != nil {
			return err
		}
		c.scratch.value = c.appendSpend(c.scratch.value[:0], e, at)
		if c.cache.hours.on {
			c.scratch.value = c.appendHours(c.scratch.value, n)
		}
		ch.Put(TableSpend, c.cache.key(e), c.scratch.value)
	}
	// The index row of a new campaign day is put without a look whether an earlier day has put it:
	// a read costs more than the row.
	for _, n := range c.cache.fresh {
		c.scratch.key = appendIndexKey(c.scratch.key[:0], c.cache.key(&c.cache.list[n]))
		ch.Put(TableCampaigns, c.scratch.key, nil)
	}
	if err := c.flushTotals(ch); err != nil {
		return err
	}
	c.flushRankings(ch)
	if err := c.flushHours(at, ch); err != nil {
		return err
	}
	return c.flushPairs(at, ch)
}

// flushBuckets writes the buckets that are new, and the ids that the local table does not have, so
// that a restart does not read them from the log again. It deletes what is forgotten.
func (c *Counter) flushBuckets(sequence uint64, ch *stream.Changes) error {
	w := &c.window
	if w.clearLocal {
		ch.DeleteRange(TableIDs, blobKey(0, 0), blobKey(math.MaxInt64, math.MaxUint64))
		ch.Delete(TableRings, []byte(ringsKey))
		w.clearLocal = false
	}
	w.advance(c.lowWatermark())
	forgotten := len(w.dropped) > 0
	for _, b := range w.dropped {
		if ch.DeleteRange(TableIDs, blobKey(b.from, 0), blobKey(b.from+1, 0)); b.stored || b.begun {
			ch.Delete(TableBuckets, bucketKey(b.from))
		}
	}
	clear(w.dropped)
	w.dropped = w.dropped[:0]
	for _, b := range w.buckets {
		if b.begun {
			forgotten = true
			b.sequence = sequence
			ch.DeleteRange(TableIDs, blobKey(b.from, 0), blobKey(b.from, sequence<<blobBits))
		}
	}
	if forgotten {
		c.movedIDs.drop(w, ch)
	}
	for _, b := range w.buckets {
		b.begun = false
		if err := c.flushBucket(b, sequence, ch); err != nil {
			return err
		}
	}
	w.unload()
	return nil
}

// blobBits is the size of the number of a value of TableIDs within a transaction: 2^16 values are
// 64 GiB of ids.
const blobBits = 16

func (c *Counter) flushBucket(b *bucket, sequence uint64, ch *stream.Changes) error {
	if !b.stored {
		value, err := proto.MarshalOptions{Deterministic: true}.Marshal(&spendpb.Bucket{ToMs: b.to, Since: b.since, Sequence: b.sequence})
		if err != nil {
			return fmt.Errorf("bucket of ids: %w", err)
		}
		ch.Put(TableBuckets, bucketKey(b.from), value)
		b.stored = true
	}
	for blob, ids := uint64(0), b.pending; len(ids) > 0; blob++ {
		n := min(len(ids), maxBlobIDs)
		c.scratch.value = c.scratch.value[:0]
		for _, id := range ids[:n] {
			c.scratch.value = binary.BigEndian.AppendUint64(c.scratch.value, id)
		}
		ch.Put(TableIDs, blobKey(b.from, sequence<<blobBits|blob), c.scratch.value)
		ids = ids[n:]
	}
	b.pending = b.pending[:0]
	return nil
}

// blobKey returns a key of TableIDs.
func blobKey(bucket int64, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64(bucketKey(bucket), sequence)
}

// PendingBytes returns the approximate size of the next Flush.
func (c *Counter) PendingBytes() int {
	const record = 128 // of a campaign day, an hour or a part, key and value
	n := record * (len(c.cache.dirty) + len(c.cache.hours.past) + c.cache.pairs.dirty + len(c.minutes))
	for _, b := range c.window.buckets {
		n += 8 * len(b.pending)
	}
	return n
}
