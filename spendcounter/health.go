package spendcounter

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/ring"
	"github.com/weirhq/weir/stream"
)

const (
	// healthMs is how often a SpendHistogram is written.
	healthMs = 1_000
	// idleMs is how long the inputs may be silent before the rings by ingest time begin to expire: heartbeats come once
	// a second.
	idleMs = 2_000
)

// health is what depends on the wall clock. None of it is state: it decides figures that are shown, never spend.
type health struct {
	processing  ring.Ring // events by the time at which they were folded
	lastInputMs int64     // of the last batch
	writtenMs   int64     // of the last SpendHistogram
	unsaved     bool      // the local table does not have the rings as they stand
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

// advance moves the ring by processing time to now. A wall clock that was set back by more than the window empties it.
func (h *health) advance(now int64) {
	if now < h.processing.Head()-ring.Window {
		h.processing.Reset(max(now, 0))
	}
	h.processing.Advance(now)
}

// due says whether a SpendHistogram is to be written at now.
func (h *health) due(now int64) bool {
	return h.writtenMs == 0 || now >= h.writtenMs+healthMs || now < h.writtenMs
}

// histogram is the SpendHistogram of this commit.
func (c *Counter) histogram(cm *stream.Commit) *eventspb.SpendHistogram {
	c.health.advance(cm.NowMs)
	m := &eventspb.SpendHistogram{
		WriterDc: c.cfg.DC, Shard: c.task.Partition, OwnerEpoch: cm.OwnerEpoch, Sequence: cm.Sequence,
		TimestampMs: c.timestampMs, ApproxCount: c.health.processing.Sum(), WrittenAtMs: cm.NowMs,
	}
	// The rings stand still when nothing comes in. They are read as of where the clock of the events would be now, if it
	// had gone on at the pace of the wall clock: so they expire, and whatever lag there was stays out of it.
	now := c.timestampMs + max(0, cm.NowMs-c.health.lastInputMs-idleMs)
	for i := range c.origins {
		o := &c.origins[i]
		h := &eventspb.OriginHealth{
			Dc: o.dc, WatermarkMs: o.watermarkMs, Count_60S: o.ring.SumAfter(now - ring.Window),
			CumulativeCount: o.count, CumulativeMicros: o.micros, Lost: o.lost, OffsetSum: c.offsetSum(i, cm),
		}
		m.IngestCount += h.Count_60S
		m.Origins = append(m.Origins, h)
	}
	return m
}

// offsetSum is the sum of the next offsets of an origin: the greater, the more of it was applied.
func (c *Counter) offsetSum(origin int, cm *stream.Commit) (sum int64) {
	for i := range c.inputs {
		in := &c.inputs[i]
		if in.topic == c.cfg.Inputs.Events && in.origin == origin {
			sum += cm.Next[in.topic]
		}
		if in.copied && in.origin == origin {
			for _, a := range in.applied {
				sum += a.next
			}
		}
	}
	return sum
}

// emitHealth writes the SpendHistogram, if its time has come, and keeps the rings for a restart.
func (c *Counter) emitHealth(cm *stream.Commit, ch *stream.Changes) error {
	if c.health.lastInputMs == 0 {
		c.health.lastInputMs = cm.NowMs // nothing came in since New: no reason to take it for silence yet
	}
	if !c.health.due(cm.NowMs) {
		return nil
	}
	value, err := proto.Marshal(c.histogram(cm))
	if err != nil {
		return err
	}
	key := HealthKey(c.cfg.DC, c.task.Partition)
	ch.EmitTo(events.HealthTopic, c.task.Partition, stream.Message{Key: key, Value: value})
	ch.Put(TableHealth, key, value)
	c.health.writtenMs = cm.NowMs
	if !c.health.unsaved {
		return nil
	}
	if value, err = proto.Marshal(c.localState()); err != nil {
		return err
	}
	ch.Put(TableRings, []byte(ringsKey), value)
	c.health.unsaved = false
	return nil
}
