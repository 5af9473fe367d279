package watermark

import (
	"math"
	"time"
)

// Config selects how a watermark advances, see stream.EventTimeConfig.
type Config struct {
	Grain    time.Duration // the step of the watermark, at least 1 ms
	Lateness time.Duration // how far the watermark stays behind the newest record
	Idle     time.Duration // after this time without records, an input no longer holds the others back
}

// Watermark is the event time of one task: records that are older are late. It is the least of the
// inputs' newest times minus Lateness, rounded down to a whole grain, and never goes back.
type Watermark struct {
	config   Config
	ms       int64
	newestMs map[string]int64     // by input, minus Lateness
	lastSeen map[string]time.Time // by input, when its last batch was folded
}

// New returns a watermark that begins at fromMs, Unix ms. Each input holds it back until the input
// has a record or is idle.
func New(c Config, inputs []string, fromMs int64, now time.Time) *Watermark {
	w := &Watermark{config: c, ms: fromMs, newestMs: map[string]int64{}, lastSeen: map[string]time.Time{}}
	for _, topic := range inputs {
		w.newestMs[topic], w.lastSeen[topic] = fromMs, now
	}
	return w
}

// Ms is the watermark, Unix ms.
func (w *Watermark) Ms() int64 { return w.ms }

// Active records that an input has a batch now: the input is not idle.
func (w *Watermark) Active(topic string, now time.Time) { w.lastSeen[topic] = now }

// Observe takes the time of the next record of an input and reports whether the input has reached
// another grain, in which case Advance may move the watermark.
func (w *Watermark) Observe(topic string, ms int64) bool {
	grain, last := w.config.Grain.Milliseconds(), w.newestMs[topic]
	if ms -= w.config.Lateness.Milliseconds(); ms <= last {
		return false
	}
	w.newestMs[topic] = ms
	return ms/grain != last/grain
}

// Advance moves the watermark to the time that all active inputs have reached and reports whether
// it moved. A task with one input never waits for others; where all inputs are idle, event time
// stands still.
func (w *Watermark) Advance(now time.Time) bool {
	least := int64(math.MaxInt64)
	for topic, ms := range w.newestMs {
		if len(w.newestMs) > 1 && now.Sub(w.lastSeen[topic]) > w.config.Idle {
			continue
		}
		least = min(least, ms)
	}
	if least == math.MaxInt64 {
		return false
	}
	grain := w.config.Grain.Milliseconds()
	if least -= least % grain; least <= w.ms {
		return false
	}
	w.ms = least
	return true
}
