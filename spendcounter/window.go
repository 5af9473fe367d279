package spendcounter

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/internal/idset"
	"github.com/weirhq/weir/spendcounter/spendpb"
)

// MaxEarlyMs is how far an event time may be ahead of the event's ingest time.
const MaxEarlyMs = 3_600_000

// bucket is the ids of the events of a span of event time.
type bucket struct {
	from, to int64         // event times in ms; to is exclusive
	since    *spendpb.Mark // the ids are in records from here on
	sequence uint64        // of the first transaction whose values in the local table belong to it
	set      *idset.Set    // nil: the ids are in the tables only
	room     int           // how many more ids the set can take, or fewer
	pending  []uint64      // ids that the local table does not have
	accounts []uint64      // accounts of pending, by hash; for a Repartitioner only
	used     uint64        // the flush before which the bucket was last used
	stored   bool          // TableBuckets has the bucket as it is
	begun    bool          // began again since the last flush: the tables have ids that are forgotten
}

func (b *bucket) covers(ms int64) bool { return b.from <= ms && ms < b.to }

// window is the duplicate set: buckets of ids by the event's own time. Which bucket an event
// belongs to, and whether it is late, depends on the event and the stream of its origin alone. So
// the order between origins does not matter.
type window struct {
	length         int64 // ms; an event that is ingested later after its event time is late
	outOfOrderness int64 // ms; an event whose ingest time is further behind its origin's greatest is late
	width          int64 // ms of a new bucket, a power of 2
	maxIDs         int   // in memory; a bucket has at most half of them

	lateBeforeMs int64     // events before this event time are late: their buckets are dropped
	buckets      []*bucket // in order; they do not overlap
	last         *bucket   // found last; most events belong to it. nil: none
	dropped      []*bucket // since the last flush
	spare        *idset.Set
	flushes      uint64
	earlyDrops   uint64
	clearLocal   bool // the local table belongs to another state and has to be cleared
}

func (w *window) configure(cfg *Config) {
	w.length, w.outOfOrderness = cfg.DuplicateWindow.Milliseconds(), cfg.OutOfOrderness.Milliseconds()
	// About six buckets span the window. Powers of 2 nest, so that buckets of two shards or of two
	// settings never overlap in part.
	w.width = 1 << (bits.Len64(uint64(max(1, (w.length+w.outOfOrderness)/4))) - 1)
	w.maxIDs = cfg.MaxIDs
}

// late reports whether an event may be too old for its bucket. watermark is the greatest ingest
// time of its origin before it.
func (w *window) late(eventMs, ingest, watermark int64) bool {
	return eventMs < ingest-w.length || ingest < watermark-w.outOfOrderness
}

// find returns the bucket that covers an event time, nil if no bucket does.
func (w *window) find(ms int64) *bucket {
	if w.last != nil && w.last.covers(ms) {
		return w.last
	}
	b := w.covering(ms)
	if b != nil {
		w.last, b.used = b, w.flushes
	}
	return b
}

// covering is find without a trace.
func (w *window) covering(ms int64) *bucket {
	i, _ := slices.BinarySearchFunc(w.buckets, ms, func(b *bucket, ms int64) int { return cmp.Compare(b.to-1, ms) })
	if i == len(w.buckets) || !w.buckets[i].covers(ms) {
		return nil
	}
	return w.buckets[i]
}

// open adds an empty bucket for an event time that no bucket covers. Its first id is at mark.
func (w *window) open(ms int64, mark *spendpb.Mark) *bucket {
	i, _ := slices.BinarySearchFunc(w.buckets, ms, func(b *bucket, ms int64) int { return cmp.Compare(b.from, ms) })
	b := &bucket{since: mark, set: w.newSet(), room: w.maxIDs / 2, used: w.flushes}
	for width := w.width; ; width /= 2 { // a bucket of another width may be in the way
		b.from = ms &^ (width - 1)
		b.to = b.from + width
		if (i == 0 || w.buckets[i-1].to <= b.from) && (i == len(w.buckets) || w.buckets[i].from >= b.to) {
			break
		}
	}
	w.buckets = slices.Insert(w.buckets, i, b)
	w.last = b
	return b
}

// begin forgets the ids of a full bucket, and begins it again at mark.
func (w *window) begin(b *bucket, mark *spendpb.Mark) {
	b.set.Reset()
	b.since, b.room, b.stored, b.begun = mark, w.maxIDs/2, false, true
	b.pending, b.accounts = b.pending[:0], b.accounts[:0]
	w.earlyDrops++
}

func (w *window) newSet() *idset.Set {
	s := w.spare
	if w.spare = nil; s == nil {
		s = &idset.Set{}
	}
	return s
}

// release takes the set of a bucket, to reuse its memory.
func (w *window) release(b *bucket) {
	if b.set != nil {
		b.set.Reset()
		w.spare, b.set = b.set, nil
	}
	if w.last == b {
		w.last = nil
	}
}

// advance raises the late bound to what no origin needs any more, and drops the buckets before it.
// watermark is the smallest of the origins' greatest ingest times.
func (w *window) advance(watermark int64) {
	w.lateBeforeMs = max(w.lateBeforeMs, watermark-w.outOfOrderness-w.length)
	n := 0
	for ; n < len(w.buckets) && w.buckets[n].to <= w.lateBeforeMs; n++ {
		w.release(w.buckets[n])
	}
	w.dropped = append(w.dropped, w.buckets[:n]...)
	w.buckets = slices.Delete(w.buckets, 0, n)
}

// unload keeps the buckets used last in memory, up to the bound of ids. The others are in the
// tables.
func (w *window) unload() {
	if w.last != nil {
		w.last.used = w.flushes
	}
	w.flushes++
	for n, _ := w.inMemory(); n > w.maxIDs; n, _ = w.inMemory() {
		oldest := (*bucket)(nil)
		for _, b := range w.buckets {
			if b.set != nil && (oldest == nil || b.used < oldest.used) {
				oldest = b
			}
		}
		w.release(oldest)
	}
}

// inMemory returns the number of ids in memory, and their bytes.
func (w *window) inMemory() (ids, bytes int) {
	for _, b := range w.buckets {
		if b.set != nil {
			ids, bytes = ids+b.set.Len(), bytes+b.set.Bytes()
		}
	}
	return ids, bytes
}

// insert inserts the ids of rows [i, live) into the sets of their buckets, and marks the rows whose
// ids were known.
func (w *window) insert(r *rows, i, live int) {
	idset.Insert(r.set[i:live], r.id[i:live], r.found[i:live])
	for j := i; j < live; j++ {
		if r.known[j] {
			r.found[j] = idset.Known
		}
		switch b := r.bucket[j]; {
		case b == nil:
		case r.found[j] == idset.New:
			b.pending = append(b.pending, r.id[j])
		default:
			b.room++
		}
	}
}

// admission is what the duplicate set decides about a row before any change.
type admission struct {
	late   bool
	bucket *bucket // nil: the event is late, or its bucket is still to be opened
	full   bool    // the bucket has to begin again
}

// admission looks up the bucket of row j, and its position if it was imported.
func (c *Counter) admission(j int, watermark int64) (a admission, err error) {
	r, w := &c.rows, &c.window
	if r.imported[j] && r.importAt[j] != replayed {
		next, err := c.importNext(r.importOf[j])
		if err != nil {
			return a, err
		}
		r.known[j] = r.importAt[j] < next
	}
	// Before the late bound are only the events of an origin that was configured after others had
	// dropped their buckets.
	if a.late = r.event[j] < w.lateBeforeMs || w.late(r.event[j], r.ingest[j], watermark); a.late {
		return a, nil
	}
	if a.bucket = w.find(r.event[j]); a.bucket == nil {
		return a, nil
	}
	if a.bucket.set == nil {
		err = c.loadBucket(a.bucket)
	}
	a.full = a.bucket.room <= 0
	return a, err
}

// enter returns the bucket of row j, the record at offset of in, which it opens or begins again if
// need be, and its set. They are nil if the event is late.
func (c *Counter) enter(a *admission, in *input, j int, offset int64) (*bucket, *idset.Set) {
	w := &c.window
	if r := &c.rows; r.imported[j] && !r.known[j] && r.importAt[j] != replayed {
		c.imports[r.importOf[j]] = r.importAt[j] + 1
	}
	switch {
	case a.late:
		if !c.rows.imported[j] { // imports are applied once for ever
			c.origins[in.origin].late++
		}
		return nil, nil
	case a.bucket == nil:
		a.bucket = w.open(c.rows.event[j], c.mark(in, offset, c.timestampMs))
	case a.full:
		w.begin(a.bucket, c.mark(in, offset, c.timestampMs))
	}
	a.bucket.room--
	return a.bucket, a.bucket.set
}

// lowWatermark returns the smallest of the greatest ingest times of the origins that the task
// reads. An origin that has sent nothing yet counts as 0.
func (c *Counter) lowWatermark() int64 {
	low := int64(-1)
	for i := range c.inputs {
		if in := &c.inputs[i]; !in.adjustments {
			if ms := c.origins[in.origin].watermarkMs; low < 0 || ms < low {
				low = ms
			}
		}
	}
	return low
}

// restoreBuckets reads which buckets there are. Their ids are read when they are needed.
func (c *Counter) restoreBuckets() error {
	err := c.task.Scan(TableBuckets, nil, func(key, value []byte) error {
		m := &spendpb.Bucket{}
		if err := proto.Unmarshal(value, m); err != nil {
			return fmt.Errorf("bucket %x: %w: rebuild the store from its changelog", key, err)
		}
		if len(key) != 8 {
			return fmt.Errorf("key %x is not a key of a bucket: rebuild the store from its changelog", key)
		}
		b := &bucket{from: int64(binary.BigEndian.Uint64(key)), to: m.ToMs, since: m.Since, sequence: m.Sequence, stored: true}
		c.window.buckets = append(c.window.buckets, b)
		return nil
	})
	if err != nil {
		return fmt.Errorf("spend counter, partition %d: read buckets of ids: %w", c.task.Partition, err)
	}
	return nil
}

// bucketKey returns the key of a bucket in TableBuckets.
func bucketKey(from int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(from)) }
