package loadgen

import "github.com/weirhq/weir/events/eventspb"

// Heartbeats returns one heartbeat for each partition, without a key, if a second has begun since the last ones; nil
// otherwise. Seconds that were missed are not made up for: a heartbeat says what is, not what was.
func (g *Generator) Heartbeats(nowMs int64) []Record {
	const secondMs = 1000
	if nowMs/secondMs <= g.beat {
		return nil
	}
	g.beat = nowMs / secondMs
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
