package processors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/weirhq/weir/stream"
)

// TimerTable describes the table of a processor's timers to people.
func TimerTable() stream.TableInfo {
	return stream.TableInfo{Number: stream.TimerTable, Name: "timers", Key: timerKeyJSON}
}

// timerKeyJSON shows a key of the table: the clock, then a timerKey.
func timerKeyJSON(key []byte) ([]byte, error) {
	if len(key) < 9 || key[0] > byte(stream.WallTime) {
		return nil, fmt.Errorf("key %x is not clock, time and key of a timer", key)
	}
	clock := "event"
	if stream.Clock(key[0]) == stream.WallTime {
		clock = "wall"
	}
	kind, own := stream.Timer{Key: key[9:]}.Kind()
	return json.Marshal(struct {
		Clock string           `json:"clock"`
		AtMs  int64            `json:"at_ms"`
		Kind  stream.TimerKind `json:"kind,omitempty"`
		Key   string           `json:"key"`
	}{clock, int64(binary.BigEndian.Uint64(key[1:9])), kind, string(own)})
}
