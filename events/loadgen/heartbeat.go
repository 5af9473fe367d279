package loadgen

import "github.com/weirhq/weir/events/eventspb"

// Heartbeats returns one heartbeat without a key for each partition if a second has begun since the
// last heartbeats, and nil otherwise. Missed seconds are not made up for. nowMs is in Unix
// milliseconds.
func (g *Generator) Heartbeats(nowMs int64) []Record {
	const secondMs = 1000
	if nowMs/secondMs <= g.heartbeatSec {
		return nil
	}
	g.heartbeatSec = nowMs / secondMs
	value := appendInt(nil, numType, int64(eventspb.EventType_EVENT_TYPE_HEARTBEAT))
	value = appendInt(value, numEventMs, nowMs)
	value = appendInt(value, numIngestMs, nowMs)
	value = append(value, g.dc...)
	records := make([]Record, g.cfg.Shards)
	for p := range records {
		records[p] = Record{Partition: int32(p), Value: value}
	}
	g.stats.Heartbeats += int64(len(records))
	return records
}
