package spendcounter

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/ring"
	"github.com/weirhq/weir/stream"
)

const (
	// healthMs is the interval between SpendHistograms.
	healthMs = 1_000
	// idleMs is the time without input after which the rings by ingest time begin to expire.
	// Heartbeats arrive once a second.
	idleMs = 2_000
)

// health depends on the wall clock. It is not state: it affects figures for display, never spend.
type health struct {
	processing ring.Ring // events by the time at which they were folded
	writtenMs  int64     // of the last SpendHistogram
	unsaved    bool      // the rings differ from the local table
}

// processed counts n events folded at now.
func (h *health) processed(now int64, n uint64) {
	h.advance(now)
	h.unsaved = true
	for n > 0 && h.processing.Head() > 0 {
		some := min(n, 1<<31)
		h.processing.Add(h.processing.Head(), uint32(some))
		n -= some
	}
}

// advance advances the ring by processing time to now. A wall clock that was set back by more than
// the window empties it.
func (h *health) advance(now int64) {
	if now < h.processing.Head()-ring.Window {
		h.processing.Reset(max(now, 0))
	}
	h.processing.Advance(now)
}

// due reports whether a SpendHistogram is to be written at now.
func (h *health) due(now int64) bool {
	return h.writtenMs == 0 || now >= h.writtenMs+healthMs || now < h.writtenMs
}

// histogram returns the SpendHistogram of this commit.
func (c *Counter) histogram(cm *stream.Commit) *eventspb.SpendHistogram {
	c.health.advance(cm.NowMs)
	m := &eventspb.SpendHistogram{
		WriterDc: c.cfg.DC, Shard: c.task.Partition, Incarnation: cm.Incarnation, OwnerEpoch: cm.OwnerEpoch, Sequence: cm.Sequence,
		TimestampMs: c.timestampMs, ApproxCount: c.health.processing.Sum(), WrittenAtMs: cm.NowMs,
		ClosedDay: int32(c.closing.through),
	}
	for i := range c.origins {
		o := &c.origins[i]
		// A ring does not advance without input. It is read at the origin's greatest ingest time
		// plus the wall time without input of this origin. So it expires, the lag of the events has
		// no effect, and neither has the clock of another datacentre.
		now := o.watermarkMs + max(0, cm.NowMs-o.lastInputMs-idleMs)
		h := &eventspb.OriginHealth{
			Dc: o.dc, WatermarkMs: o.watermarkMs, Count_60S: o.ring.SumAfter(now - ring.Window),
			CumulativeCount: o.count, CumulativeMicros: o.micros, Lost: o.lost, Rejected: o.rejected, OffsetSum: c.offsetSum(i, cm),
		}
		m.IngestCount += h.Count_60S
		m.Origins = append(m.Origins, h)
	}
	return m
}

// offsetSum returns the sum of the next offsets of an origin. Of two replicas, the one with the
// greater sum has applied more.
func (c *Counter) offsetSum(origin int, cm *stream.Commit) (sum int64) {
	for i := range c.inputs {
		in := &c.inputs[i]
		if in.topic == c.cfg.Inputs.Events && in.origin == origin {
			sum += cm.Next[in.topic]
		}
	}
	for _, a := range c.origins[origin].events {
		sum += a.next
	}
	return sum
}

// flushHealth puts the rings for a restart and then the health row, if they are due. Flush calls it
// after all other changes. So the health row is the last row of its transaction, and describes the
// state after it: SPEND-32.
func (c *Counter) flushHealth(cm *stream.Commit, ch *stream.Changes) error {
	for i := range c.origins {
		if o := &c.origins[i]; o.lastInputMs == 0 {
			o.lastInputMs = cm.NowMs // no input since New: this is not yet a time without input
		}
	}
	if !c.health.due(cm.NowMs) {
		return nil
	}
	histogram := c.histogram(cm) // advances the rings
	if c.health.unsaved {
		value, err := proto.Marshal(c.localState())
		if err != nil {
			return err
		}
		ch.Put(TableRings, []byte(ringsKey), value)
		c.health.unsaved = false
	}
	value, err := proto.Marshal(histogram)
	if err != nil {
		return err
	}
	ch.Put(TableHealth, HealthKey(c.cfg.DC, c.task.Partition), value)
	c.health.writtenMs = cm.NowMs
	return nil
}
