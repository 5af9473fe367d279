package processorstest

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/watermark"
)

// refoldTimers are the timers of a refolder: the keys of the runtime's table in the state. The log
// has the times by which they fired:
//
//   - Wall timers fire at the end of a transaction, by written_at_ms of its marker.
//   - Timers of event time fire between the records, by the times of the records, where the
//     processor has one input. The log does not have the order between several inputs. There the
//     timers fire at the end of a transaction: those that the log removes, and if the watermark has
//     advanced, all that are older than the transaction. None may be later than the watermark.
type refoldTimers struct {
	refolder  *refolder
	set       map[string]bool // the keys in the table
	fresh     map[string]bool // set in the open transaction
	nextMs    [2]int64        // no timer of the clock is due before this time
	watermark *watermark.Watermark
	lastMs    int64 // watermark of the last marker
}

func timerRow(t stream.Timer) string {
	k := binary.BigEndian.AppendUint64([]byte{byte(t.Clock)}, uint64(max(0, t.AtMs)))
	return changelogKey(stream.TimerTable, append(k, t.Key...))
}

func timerOf(row string) stream.Timer {
	return stream.Timer{Clock: stream.Clock(row[1]), AtMs: int64(binary.BigEndian.Uint64([]byte(row[2:10]))), Key: []byte(row[10:])}
}

// Set implements stream.Timers.
func (t *refoldTimers) Set(x stream.Timer) {
	row := timerRow(x)
	t.set[row], t.fresh[row] = true, true
	t.nextMs[x.Clock] = min(t.nextMs[x.Clock], x.AtMs)
	t.refolder.put(row, "")
}

// Cancel implements stream.Timers.
func (t *refoldTimers) Cancel(x stream.Timer) { t.remove(timerRow(x)) }

func (t *refoldTimers) remove(row string) {
	delete(t.set, row)
	t.refolder.remove(row)
}

// due takes the first timers of a clock that are due, in order. They count as fired.
func (t *refoldTimers) due(clock stream.Clock, nowMs int64, selected func(row string) bool) (due []stream.Timer) {
	if nowMs < t.nextMs[clock] {
		return nil
	}
	var rows []string
	next := int64(math.MaxInt64)
	for row := range t.set {
		x := timerOf(row)
		if x.Clock != clock {
			continue
		}
		if next = min(next, x.AtMs); x.AtMs <= nowMs && (selected == nil || selected(row)) {
			rows = append(rows, row)
		}
	}
	t.nextMs[clock] = next // or earlier: those that fire now count
	slices.Sort(rows)
	for _, row := range rows[:min(len(rows), handler.FireBatch)] {
		t.remove(row)
		due = append(due, timerOf(row))
	}
	return due
}

// fire fires the timers that are due, as the runtime does.
func (t *refoldTimers) fire(h stream.Handler, clock stream.Clock, nowMs int64, selected func(row string) bool) error {
	timed, ok := h.(stream.TimerHandler)
	for n := 0; ok && (clock != stream.WallTime || n < handler.WallLimit); {
		due := t.due(clock, nowMs, selected)
		if len(due) == 0 {
			return nil
		}
		n += len(due)
		if err := timed.OnTimer(nowMs, due); err != nil {
			return err
		}
	}
	return nil
}

// orderKnown reports whether the log has the order of all records.
func (f *refolder) orderKnown() bool { return len(f.proc.Inputs) == 1 }

// observe advances event time by a record that is about to be folded.
func (t *refoldTimers) observe(h stream.Handler, topic string, r *stream.Record) error {
	f := t.refolder
	if !f.orderKnown() || !t.watermark.Observe(topic, f.proc.Time.Of(topic, r)) || !t.watermark.Advance(f.began) {
		return nil
	}
	return t.fire(h, stream.EventTime, t.watermark.Ms(), nil)
}

// watermarkMs is the event time between two records, 0 where the log does not have their order:
// what a late record sets in the past then fires at the end of the transaction.
func (t *refoldTimers) watermarkMs() int64 {
	if !t.refolder.orderKnown() {
		return 0
	}
	return t.watermark.Ms()
}

// endTransaction fires what is due at the end of the transaction of m. removed are the rows that
// the transaction removes from the changelog.
func (t *refoldTimers) endTransaction(h stream.Handler, m *changelogpb.Marker, folded int, removed map[string]bool) error {
	var err error
	switch f := t.refolder; {
	case !f.orderKnown():
		advanced := m.GetWatermarkMs() > t.lastMs
		err = t.fire(h, stream.EventTime, m.GetWatermarkMs(), func(row string) bool { return removed[row] || advanced && !t.fresh[row] })
	case folded == 0:
		err = t.fire(h, stream.EventTime, t.watermark.Ms(), nil)
	}
	if err != nil {
		return err
	}
	return t.fire(h, stream.WallTime, m.GetWrittenAtMs(), nil)
}

// committed ends the transaction of m.
func (t *refoldTimers) committed(m *changelogpb.Marker) {
	t.lastMs = m.GetWatermarkMs()
	clear(t.fresh)
}
