package spendcounter

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// auditOutput is the name of the output of SpendAudit records.
const auditOutput = "audit"

// minuteMs is the length of a minute of the audit.
const minuteMs = 60_000

// beginMinute ends the open minute of o if the ingest time ms is in a later one, and begins that
// one with the record at offset of the origin. ms never falls, so the records of a minute
// depend on the stream of the origin alone, not on the other origins or on transactions.
func (c *Counter) beginMinute(o *origin, ms, offset int64) {
	m := o.minute
	if m != nil && ms < m.MinuteMs+minuteMs {
		return
	}
	if m != nil {
		c.minutes = append(c.minutes, m)
	}
	o.minute = &eventspb.SpendAudit{
		Origin: o.dc, MinuteMs: ms - ms%minuteMs, FirstOffset: offset, NextOffset: offset, Begins: m == nil,
	}
}

// flushMinutes emits the minutes that have ended since the last Flush.
func (c *Counter) flushMinutes(cm *stream.Commit, ch *stream.Changes) error {
	for _, m := range c.minutes {
		m.WriterDc, m.Shard = c.cfg.DC, c.task.Partition
		m.Incarnation, m.OwnerEpoch, m.Sequence = cm.Incarnation, cm.OwnerEpoch, cm.Sequence
		value, err := proto.Marshal(m)
		if err != nil {
			return err
		}
		ch.Emit(auditOutput, stream.Message{Value: value}) // without a key: to the partition of the shard
	}
	clear(c.minutes)
	c.minutes = c.minutes[:0]
	return nil
}
