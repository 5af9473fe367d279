package spendcounter

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weirhq/weir/stream"
)

// Numbers of fields that a commit determines, not the inputs.
const (
	spendEpoch, spendSequence, spendOffset = 7, 8, 9
	taskIDs, taskRing                      = 8, 9
)

// Canonical returns the part of a value of TableSpend or TableTask that the inputs alone determine.
// For Spend it removes the commit that wrote it. For the task record it removes where the
// generations of ids and rings began in each topic: with more than one topic, that depends on which
// topic was read first. A malformed value is returned unchanged.
func Canonical(table byte, _, value []byte) []byte {
	switch table {
	case TableSpend:
		return stripFields(value, spendEpoch, spendOffset)
	case TableTask:
		return stripFields(value, taskIDs, taskRing)
	case TableMovedIDs:
		return nil // when they are deleted depends on where generations begin
	}
	return value
}

// Rewrite replaces the commit in a Spend that another counter wrote with cm. events is the topic of
// the events.
func Rewrite(events string, table byte, value []byte, cm stream.Commit) ([]byte, error) {
	if table != TableSpend {
		return value, nil
	}
	head, tail := stripFields(value, spendEpoch, protowire.MaxValidNumber), stripFields(value, 1, spendOffset)
	head = appendVarint(head, spendEpoch, cm.OwnerEpoch)
	head = appendVarint(head, spendSequence, cm.Sequence)
	head = appendVarint(head, spendOffset, uint64(cm.Next[events]))
	return append(head, tail...), nil
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
