package pacing

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// Bounds of the records of pacing.signals.
const (
	recordBytes = 256 << 10 // from which on a record is full
	tickNodes   = 1000      // of a message: one of a whole tick has about 300 bytes
)

// ticksField is the number of PacingSignals.ticks.
const ticksField = 4

// signalLog is the recorded ticks of a task that no transaction has yet. They are in the next one
// that has something else, at the latest in that of the leader's row: see package replay.
type signalLog struct {
	records []signalRecord
}

// signalRecord is a record of pacing.signals without its writer.
type signalRecord struct {
	value []byte // an eventspb.PacingSignals
	atMs  int64  // time of the first tick
}

// add adds a tick.
func (l *signalLog) add(m *eventspb.AccountTick) error {
	for rest := m.GetNodes(); ; {
		m.Nodes = rest[:min(len(rest), tickNodes)]
		rest = rest[len(m.GetNodes()):]
		m.More = len(rest) > 0
		value, err := proto.Marshal(m)
		if err != nil {
			return fmt.Errorf("encode a tick of account %q: %w", m.GetAccount(), err)
		}
		if len(l.records) == 0 || len(l.records[len(l.records)-1].value) >= recordBytes {
			l.records = append(l.records, signalRecord{atMs: m.GetAtMs()})
		}
		r := &l.records[len(l.records)-1]
		r.value = protowire.AppendBytes(protowire.AppendTag(r.value, ticksField, protowire.BytesType), value)
		if !m.GetMore() {
			return nil
		}
	}
}

// write writes the ticks to the partition of a task.
func (l *signalLog) write(x *task, c stream.Commit, ch *stream.Changes) {
	writer, err := proto.Marshal(&eventspb.PacingSignals{WriterDc: x.cfg.DC, Incarnation: c.Incarnation, OwnerEpoch: c.OwnerEpoch})
	if err != nil {
		ch.Fail(fmt.Errorf("encode the recorded ticks of shard %d: %w", x.Partition, err))
		return
	}
	for _, r := range l.records {
		ch.EmitTo(signalsOutput, x.Partition, stream.Message{Value: append(r.value, writer...), TimeMs: r.atMs})
	}
	l.records = nil
}
