package spendcounter

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/spendcounter/spendpb"
	"github.com/weirhq/weir/stream"
)

// Numbers of fields that a commit determines, not the inputs.
const spendEpoch, spendSequence, spendOffset, spendIncarnation, spendCorrections = 7, 8, 9, 11, 12

// Canonical returns the part of a value of a logged table that the inputs alone determine, in any
// order between their topics. For Spend, SpendHour and SpendPart it removes the commit that wrote
// it and the corrections; for the task record see canonicalTask. A malformed value is returned
// unchanged.
func Canonical(table byte, _, value []byte) []byte {
	switch table {
	case TableSpend, TableHours, TableParts:
		return stripFields(stripFields(value, spendEpoch, spendOffset), spendIncarnation, spendCorrections)
	case TableTask:
		return canonicalTask(value)
	case TableMovedIDs, TableBuckets:
		return nil // where a bucket begins depends on which topic was read first
	case TableHealth:
		return nil // it depends on the wall clock
	}
	return value
}

// canonicalTask leaves out what depends on the order between topics: where spans began, which of
// two copies was charged, and so to which origin, and what forgotten ids have as consequences. It
// leaves out what promotions leave in it, too, which refunds came before the charges, how far the
// pass over closed days is, and the open minutes of the audit, which an earlier version lacks.
func canonicalTask(value []byte) []byte {
	s := &spendpb.TaskState{}
	if err := proto.Unmarshal(value, s); err != nil {
		return value
	}
	s.Ring, s.LateBeforeMs, s.Conflicts, s.EarlyDrops, s.OverRefunds, s.Unranked, s.Rankings, s.Corrections, s.Pass = nil, 0, 0, 0, 0,
		false, 0, nil, nil
	for _, o := range s.Origins {
		o.Minute = nil
	}
	for _, o := range s.Origins[min(1, len(s.Origins)):] {
		s.Origins[0].Count, s.Origins[0].Micros = s.Origins[0].Count+o.Count, s.Origins[0].Micros+o.Micros
		o.Count, o.Micros = 0, 0
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(s)
	if err != nil {
		return value
	}
	return out
}

// Settled reports whether the rows are a function of the inputs: no row of a closed day is left.
// get reads the state. A state that is not settled will be after further transactions, also without
// input.
func Settled(get stream.Get) (bool, error) {
	value, err := get(TableTask, []byte(TaskKey))
	if err != nil {
		return false, fmt.Errorf("read task record: %w", err)
	}
	s, err := ParseTask(value)
	if errors.Is(err, ErrLayout) {
		return false, nil
	}
	return err == nil && s.GetPass().GetDoneDay() == s.GetClosedDay(), err
}

// Rewrite replaces the commit in a Spend, SpendHour or SpendPart that another counter wrote with
// cm. events is the topic of the events.
func Rewrite(events string, table byte, value []byte, cm stream.Commit) ([]byte, error) {
	if table != TableSpend && table != TableHours && table != TableParts {
		return value, nil
	}
	head, tail := stripFields(value, spendEpoch, protowire.MaxValidNumber), stripFields(value, 1, spendOffset)
	head = appendVarint(head, spendEpoch, cm.OwnerEpoch)
	head = appendVarint(head, spendSequence, cm.Sequence)
	head = appendVarint(head, spendOffset, uint64(cm.Next[events]))
	return replaceField(append(head, tail...), spendIncarnation, cm.Incarnation), nil
}

// replaceField gives a numeric field of a message, whose fields are in the order of their numbers,
// another value.
func replaceField(message []byte, field protowire.Number, n uint64) []byte {
	head, tail := stripFields(message, field, protowire.MaxValidNumber), stripFields(message, 1, field)
	return append(appendVarint(head, field, n), tail...)
}

// stripFields copies a message without its fields from to last.
func stripFields(message []byte, from, last protowire.Number) []byte {
	out := make([]byte, 0, len(message))
	for rest := message; len(rest) > 0; {
		n, _, size := protowire.ConsumeField(rest)
		if size < 0 {
			return message
		}
		if n < from || n > last {
			out = append(out, rest[:size]...)
		}
		rest = rest[size:]
	}
	return out
}
