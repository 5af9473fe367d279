package push

import (
	"time"

	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream/state"
)

// positionTable is the number of the state table. Its values are JSON: it has one row for each
// partition, and operators read it.
const positionTable byte = 1

// positionKey is the key of its row. A partition that is compared has none.
const positionKey = "dataset"

func newPositions() *state.Table[string, position] {
	return state.NewTable(positionTable, state.String{}, state.JSON[position]{})
}

// position is the place in a partition of the dataset up to which the copy has its rows.
type position struct {
	logreader.Position

	Copy logreader.TopicID `json:"copy"` // the topic that has the copies
	// AsOfMs is a time, Unix ms: the position is behind each record that was committed before it,
	// by the clock of the writer of the dataset.
	AsOfMs int64 `json:"as_of_ms"`
	// Held is the health record before the position that is held back; nil: none is.
	Held *logreader.Record `json:"held,omitempty"`
}

// tooOld reports whether compaction may have removed tombstones behind the position. A tombstone is
// kept for some time after it is compacted first, so it was written longer ago than that.
func (p position) tooOld(kept time.Duration, now time.Time) bool {
	return now.UnixMilli()-p.AsOfMs > kept.Milliseconds()/2
}
