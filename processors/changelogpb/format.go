package changelogpb

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
)

// The key of a changelog record is one byte of table, then the state key. Table 0 belongs to the
// runtime: a marker ends each transaction of the task, a barrier begins each ownership, and an
// instruction to skip a range of an input is of an operator. Compaction keeps the last marker, the
// last barrier, and the last instruction for each position.
const (
	SystemTable byte = 0
	MarkerKey        = "m"
	BarrierKey       = "b"
	skipPrefix       = "s/"
)

// SystemKey returns the key of a marker or a barrier.
func SystemKey(kind string) []byte { return append([]byte{SystemTable}, kind...) }

// SkipKey returns the key of an instruction to skip.
func SkipKey(s *Skip) []byte {
	return SystemKey(fmt.Sprintf("%s%s/%d", skipPrefix, s.GetTopic(), s.GetFrom()))
}

// DecodeSkip decodes an instruction to skip. It returns nil for other records.
func DecodeSkip(key, value []byte) (*Skip, error) {
	if !IsSystem(key) || !strings.HasPrefix(string(key[1:]), skipPrefix) {
		return nil, nil
	}
	return Decode(value, &Skip{}, "an instruction to skip")
}

// IsSystem reports whether a changelog record belongs to the runtime. A reader of the state skips
// it.
func IsSystem(key []byte) bool { return len(key) > 0 && key[0] == SystemTable }

// StateKey splits a changelog key into the table and the state key.
func StateKey(key []byte) (table byte, state []byte, err error) {
	if len(key) == 0 || key[0] == SystemTable {
		return 0, nil, fmt.Errorf("changelog key %x has no table of the state", key)
	}
	return key[0], key[1:], nil
}

// DecodeMarker decodes a marker: the end of a task's part of a transaction. It returns nil for
// other records.
func DecodeMarker(key, value []byte) (*Marker, error) {
	if !IsSystem(key) || string(key[1:]) != MarkerKey {
		return nil, nil
	}
	return Decode(value, &Marker{}, "marker")
}

// Decode unmarshals b into m. what names the record in the error.
func Decode[M proto.Message](b []byte, m M, what string) (M, error) {
	if err := proto.Unmarshal(b, m); err != nil {
		return m, fmt.Errorf("decode %s: %w", what, err)
	}
	return m, nil
}

// NextOffsets returns the next offset of each topic.
func NextOffsets(ps []*Position) map[string]int64 {
	m := make(map[string]int64, len(ps))
	for _, p := range ps {
		m[p.Topic] = p.Next
	}
	return m
}
