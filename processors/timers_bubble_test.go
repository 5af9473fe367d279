//go:build synctests

package processors

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// timedLedger is a ledger that sets two timers for each record it takes, one of each clock, and says when they fired.
type timedLedger struct {
	*ledger
	timers stream.Timers
	fires  []string
}

const (
	eventDelay = 1500 // ms after the record
	wallDelay  = 700
)

func newTimedLedger(t stream.Task) (stream.Handler, error) {
	h, err := newLedger(t)
	if err != nil {
		return nil, err
	}
	return &timedLedger{ledger: h.(*ledger), timers: t.Timers}, nil
}

func (l *timedLedger) Fold(b *stream.Batch) error {
	if err := l.ledger.Fold(b); err != nil {
		return err
	}
	refused := map[int]bool{}
	for _, r := range b.Rejects {
		refused[r.Index] = true
	}
	for i, r := range b.Records {
		if !refused[i] {
			key := fmt.Appendf(nil, "%s/%d/%d", b.Topic, l.p, r.Offset)
			l.timers.Set(stream.Timer{Clock: stream.EventTime, AtMs: r.TimeMs + eventDelay, Key: key})
			l.timers.Set(stream.Timer{Clock: stream.WallTime, AtMs: r.TimeMs + wallDelay, Key: key})
		}
	}
	return nil
}

func (l *timedLedger) OnTimer(nowMs int64, due []stream.Timer) error {
	for _, t := range due {
		if t.AtMs > nowMs {
			return fmt.Errorf("timer %s is due at %d, it is %d", t.Key, t.AtMs, nowMs)
		}
		l.fires = append(l.fires, fmt.Sprintf("%d %s", t.Clock, t.Key))
	}
	return nil
}

func (l *timedLedger) Flush(c stream.Commit, ch *stream.Changes) error {
	for _, f := range l.fires {
		ch.EmitTo("fired", l.p, stream.Message{Key: []byte(f), Value: []byte(f)})
	}
	l.fires = l.fires[:0]
	return l.ledger.Flush(c, ch)
}

// judgeTimers holds what fired against what was set: every timer once, not before its time, and nothing that was due is left.
func (w *crashRun) judgeTimers() error {
	if w.quiet {
		return nil
	}
	var errs []error
	accepted, times := map[string]bool{}, map[string]int64{}
	for _, r := range w.left["out"] {
		accepted[string(r.Value)] = true
	}
	for _, r := range slices.Concat(w.left["in"], w.left["in2"]) {
		times[fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset)] = r.Timestamp.UnixMilli()
	}
	marks := map[int32]int64{}
	for _, r := range w.left["log"] {
		m, err := changelogpb.DecodeMarker(r.Key, r.Value)
		if err != nil {
			return err
		}
		if m != nil {
			if m.WatermarkMs < marks[r.Partition] {
				errs = append(errs, fmt.Errorf("partition %d: the watermark goes back from %d to %d", r.Partition, marks[r.Partition], m.WatermarkMs))
			}
			marks[r.Partition] = m.WatermarkMs
		}
	}
	fired := map[string]int{}
	for _, r := range w.left["fired"] {
		clock, cause, _ := strings.Cut(string(r.Value), " ")
		if fired[clock+cause]++; fired[clock+cause] > 1 {
			errs = append(errs, fmt.Errorf("timer %s fired %d times", r.Value, fired[clock+cause]))
		}
		if !accepted[cause] {
			errs = append(errs, fmt.Errorf("timer %s fired, and its record was refused", r.Value))
		}
		if clock == "1" && r.Timestamp.UnixMilli() < times[cause]+wallDelay {
			errs = append(errs, fmt.Errorf("timer %s fired %d ms after its record", r.Value, r.Timestamp.UnixMilli()-times[cause]))
		}
	}
	for cause := range accepted {
		at := origin(cause)
		if fired["1"+cause] == 0 {
			errs = append(errs, fmt.Errorf("the wall timer of %s did not fire", cause))
		}
		if due := times[cause]+eventDelay <= marks[at.Partition]; due != (fired["0"+cause] > 0) {
			errs = append(errs, fmt.Errorf("the event timer of %s is due %t at watermark %d, and fired %d times", cause, due, marks[at.Partition], fired["0"+cause]))
		}
	}
	return errors.Join(append(errs, w.sameTimers())...)
}

// sameTimers compares the timers of the stores with those of the changelog up to there.
func (w *crashRun) sameTimers() error {
	var errs []error
	left := map[int32]map[string]bool{}
	for _, r := range w.left["log"] {
		if left[r.Partition] == nil {
			left[r.Partition] = map[string]bool{}
		}
		switch {
		case r.Key[0] != stream.TimerTable || r.Offset >= w.h.Stores[r.Partition].ChangelogNext:
		case r.Value == nil:
			delete(left[r.Partition], string(r.Key[1:]))
		default:
			left[r.Partition][string(r.Key[1:])] = true
		}
	}
	for q, want := range left {
		if !maps.Equal(want, w.timers[q]) {
			errs = append(errs, fmt.Errorf("partition %d: the store has %d timers, its changelog %d at offset %d", q, len(w.timers[q]), len(want), w.h.Stores[q].ChangelogNext))
		}
	}
	return errors.Join(errs...)
}

// spoilTimers drops the changes of timers that are of one kind.
func spoilTimers(list []*taskCommit, op stream.Op) {
	for _, p := range list {
		p.task.changes.List = slices.DeleteFunc(p.task.changes.List, func(c stream.Change) bool { return c.Table == stream.TimerTable && c.Op == op })
	}
}
