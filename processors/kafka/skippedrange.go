package kafka

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// SkippedRange is a range of offsets in a partition of a sink's topic that could not be read and
// that an operator gave up.
type SkippedRange struct {
	From int64     `json:"from"`
	To   int64     `json:"to"` // the first offset after the range
	Who  string    `json:"who,omitempty"`
	Why  string    `json:"why,omitempty"`
	At   time.Time `json:"at"` // of the decision
}

// SkipGroup returns the consumer group whose committed offsets are the instructions to skip for the
// sink of a group. It never has a member, so that an operator may commit to it while the sink runs.
func SkipGroup(group string) string { return group + ".skip" }

const (
	skipNotePrefix = "weir skipped "
	// maxSkipNote is the most bytes of a note. Brokers accept 4,096 as metadata of an offset
	// (offset.metadata.max.bytes).
	maxSkipNote = 4000
	maxSkipped  = 30 // ranges in a note; without texts they have about 90 bytes
)

// EncodeSkipped returns ranges, oldest first, as metadata of a committed offset. Without ranges it
// is empty. The newest 30 are kept, of which the oldest lose their texts if they are too long.
func EncodeSkipped(list []SkippedRange) string {
	list = slices.Clone(list[max(0, len(list)-maxSkipped):])
	for i := range list {
		b, err := json.Marshal(list)
		if err == nil && len(skipNotePrefix)+len(b) <= maxSkipNote {
			return skipNotePrefix + string(b)
		}
		list[i].Who, list[i].Why = "", ""
	}
	return ""
}

// DecodeSkipped returns the ranges in the metadata of a committed offset; none if it has another
// content.
func DecodeSkipped(note string) (list []SkippedRange) {
	text, ours := strings.CutPrefix(note, skipNotePrefix)
	if !ours || json.Unmarshal([]byte(text), &list) != nil {
		return nil
	}
	return list
}
