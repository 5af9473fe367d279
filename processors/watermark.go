package processors

import (
	"time"

	"github.com/weirhq/weir/stream"
)

// watermark is the event time of one task: no record is expected any more that is older.
type watermark struct {
	times    stream.EventTimeConfig
	nowMs    int64            // the mark; it never goes back
	newMs    map[string]int64 // newest time of each input
	lastSeen map[string]time.Time
}

func newWatermark(times stream.EventTimeConfig, inputs []string, fromMs int64, now time.Time) *watermark {
	w := &watermark{times: times, nowMs: fromMs, newMs: map[string]int64{}, lastSeen: map[string]time.Time{}}
	for _, topic := range inputs {
		w.newMs[topic], w.lastSeen[topic] = fromMs, now // each holds the others back until it speaks or is idle
	}
	return w
}

// observe takes note of a record's time, and says whether its input reached another grain.
func (w *watermark) observe(topic string, ms int64) bool {
	grain, last := w.times.Grain.Milliseconds(), w.newMs[topic]
	if ms -= w.times.Lateness.Milliseconds(); ms <= last {
		return false
	}
	w.newMs[topic] = ms
	return ms/grain != last/grain
}

// advance moves the mark to what the inputs allow, in whole grains, and says whether it moved.
func (w *watermark) advance(now time.Time) bool {
	least := int64(never)
	for topic, ms := range w.newMs {
		if len(w.newMs) > 1 && now.Sub(w.lastSeen[topic]) > w.times.Idle {
			continue
		}
		least = min(least, ms)
	}
	if least == never { // all are idle: time stands still
		return false
	}
	grain := w.times.Grain.Milliseconds()
	if least -= least % grain; least <= w.nowMs {
		return false
	}
	w.nowMs = least
	return true
}
