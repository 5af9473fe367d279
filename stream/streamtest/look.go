package streamtest

import (
	"errors"

	"github.com/weirhq/weir/stream"
)

// Get returns the committed value of key, nil if key has no value. A state.Table reads a Runner
// with it: counts.Get(r, "word").
func (r *Runner) Get(table byte, key []byte) ([]byte, error) { return r.state.get(table, key) }

// Range calls fn for the committed rows of table from key from up to, not including, to, in order
// of the keys. A nil to is the end of the table.
func (r *Runner) Range(table byte, from, to []byte, fn func(key, value []byte) error) error {
	if err := r.state.scanRange(table, from, to, fn); !errors.Is(err, stream.ErrStopScan) {
		return err
	}
	return nil
}

// Table returns the committed rows of a table, values by key. It must not be changed.
func (r *Runner) Table(n byte) map[string][]byte { return r.state.table(n) }

// Timers returns the committed timers, in order of clock, time and key.
func (r *Runner) Timers() []stream.Timer { return r.timers.list() }

// NextTimer returns the time of the next committed timer of wall time, Unix ms.
func (r *Runner) NextTimer() (ms int64, ok bool) { return r.timers.nextMs(stream.WallTime) }

// WatermarkMs is the event time of the task, Unix ms.
func (r *Runner) WatermarkMs() int64 { return r.watermark.Ms() }

// TakeOutputs returns the records that were committed to outputs since the last call, in order.
// Change.To has the output, by name and topic.
func (r *Runner) TakeOutputs() []stream.Change {
	out := r.outputs
	r.outputs = nil
	return out
}

// Count returns what the committed transactions have counted under a name.
func (r *Runner) Count(name string) float64 { return r.counts[name] }

// TakeRejects returns the records whose refusal was committed since the last call, in the order in
// which they were folded.
func (r *Runner) TakeRejects() []Reject {
	list := r.rejected
	r.rejected = nil
	return list
}
