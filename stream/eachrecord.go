package stream

import (
	"errors"
	"fmt"
	"slices"
)

// EachRecord makes a Processor.New of a function that is called for each record, in order.
//
//	New: stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
//		n, _, err := counts.Get(c, string(r.Key)) // a state.Table
//		if err != nil {
//			return err
//		}
//		counts.Put(c, string(r.Key), n+1)
//		c.Emit("counts", stream.Message{Key: r.Key, Value: strconv.AppendUint(nil, n+1, 10)})
//		return nil
//	})
//
// The function's error decides about the record:
//
//   - nil: what the function did is part of the transaction.
//   - a RejectError, see Rejectf, wrapped or not: the record goes to the dead-letter topic, and
//     what the function did for it is undone.
//   - any other error: the transaction is abandoned and tried again; after some tries the partition
//     stops. Return the errors of Get and Scan as they are.
//
// If the function panics, the transaction is abandoned, and the record goes to the dead-letter
// topic in the next one.
//
// The function keeps its state in tables alone. It must not use variables outside: it is called by
// several tasks at once, for records that are tried again, and in another process after a takeover.
func EachRecord(fn func(c *Context, r *Record) error) func(Task) (Handler, error) {
	return func(t Task) (Handler, error) {
		return &recordHandler{context: Context{task: t, tableNames: t.tables, state: openTables{task: &t}}, onRecord: fn}, nil
	}
}

// EachRecordWithTimers is EachRecord with a second function, which is called for each timer that is
// due, in order of time and key. Timers that it sets and that are due at once fire after those that
// were due. Its error abandons the transaction, a RejectError as any other.
//
// A timer of event time that a late record sets at or below the watermark fires right after the
// record. So with one input the records alone decide which timers fire between which records. A
// panic of such a timer is one of the record.
func EachRecordWithTimers(onRecord func(c *Context, r *Record) error, onTimer func(c *Context, t Timer) error) func(Task) (Handler, error) {
	return func(t Task) (Handler, error) {
		return &timedRecordHandler{recordHandler{
			context: Context{task: t, tableNames: t.tables, timed: true, state: openTables{task: &t}}, onRecord: onRecord,
			onTimer: withoutKind(onTimer),
		}}, nil
	}
}

// withoutKind refuses timers that a handler of Processor.On has set: onTimer does not know their
// keys.
func withoutKind(onTimer func(*Context, Timer) error) func(*Context, Timer) error {
	return func(c *Context, t Timer) error {
		if kind, _ := t.Kind(); kind != "" {
			return fmt.Errorf(
				"a timer has kind %q, and EachRecordWithTimers has timers without one: a version of the program with Processor.On has set it. Run that version, or one with OnTimer for the kind", kind)
		}
		return onTimer(c, t)
	}
}

// recordHandler is the Handler of EachRecord.
type recordHandler struct {
	context  Context
	onRecord func(*Context, *Record) error
	onTimer  func(*Context, Timer) error // nil: without timers
}

// maxPast is how often in a row timers may set timers at or below the watermark.
const maxPast = 10_000

// Fold implements Handler.
func (h *recordHandler) Fold(b *Batch) error {
	for i := range b.Records {
		r := &b.Records[i]
		h.context.begin(b.Topic, b.NowMs)
		h.context.watermarkMs = b.WatermarkMs
		err := h.onRecord(&h.context, r)
		if rejected, ok := errors.AsType[*RejectError](err); ok {
			b.Reject(i, rejected.Reason, rejected.Detail)
			err = h.context.undo()
		} else if err == nil {
			if err = h.context.end(); err == nil {
				err = h.firePast(b.WatermarkMs)
			}
		}
		if err != nil {
			return fmt.Errorf("record at offset %d: %w", r.Offset, err)
		}
	}
	return nil
}

// Flush implements Handler.
func (h *recordHandler) Flush(_ Commit, ch *Changes) error {
	h.context.flush(ch)
	return nil
}

// AskContext calls fn, a func(*Context) error, as a record function. An error undoes what fn did.
// The result is false if fn is of another type. Package internal/authored calls it.
func (h *recordHandler) AskContext(fn any) (bool, error) {
	ask, ok := fn.(func(*Context) error)
	if !ok {
		return false, nil
	}
	h.context.begin("", 0)
	h.context.watermarkMs = 0
	err := ask(&h.context)
	if err == nil {
		err = h.context.end()
	}
	if err == nil {
		return true, nil
	}
	_ = h.context.undo() // returns a misuse of the Context, which is err, or comes after it
	return true, err
}

// PendingBytes implements PendingSizer.
func (h *recordHandler) PendingBytes() int { return h.context.state.bytes + h.context.out.Bytes() }

// timedRecordHandler is the Handler of EachRecordWithTimers.
type timedRecordHandler struct{ recordHandler }

// OnTimer implements TimerHandler.
func (h *timedRecordHandler) OnTimer(nowMs int64, due []Timer) error {
	h.context.watermarkMs = 0 // the runtime fires what timers set
	return h.fire(nowMs, due)
}

// firePast fires the timers that a record has set at or below the watermark, and those that they
// set.
func (h *recordHandler) firePast(watermarkMs int64) error {
	for n := 0; len(h.context.past) > 0; n++ {
		due := h.context.past
		if n == maxPast {
			return fmt.Errorf(
				"timers have set timers at or below the watermark %d times in a row, the last for %d ms: the timer function keeps setting timers in the past", n, due[0].AtMs)
		}
		h.context.past = nil
		slices.SortFunc(due, compareTimers)
		if err := h.fire(watermarkMs, due); err != nil {
			return err
		}
	}
	return nil
}

// fire calls the timer function. A timer that an earlier one of due cancels does not fire. Setting
// a timer of due again changes nothing.
func (h *recordHandler) fire(nowMs int64, due []Timer) error {
	cancelled := map[int]bool{} // by index in due
	for i, t := range due {
		if cancelled[i] {
			continue
		}
		h.context.begin("", nowMs)
		if err := h.onTimer(&h.context, t); err != nil {
			return fmt.Errorf("timer %q due at %d: %w", t.Key, t.AtMs, err)
		}
		h.context.timers = slices.DeleteFunc(h.context.timers, func(x timerChange) bool {
			at, pending := slices.BinarySearchFunc(due[i+1:], x.timer, compareTimers)
			if pending = pending && x.timer.Clock == t.Clock; pending {
				cancelled[i+1+at] = !x.set
			}
			return pending
		})
		if err := h.context.end(); err != nil {
			return fmt.Errorf("timer %q due at %d: %w", t.Key, t.AtMs, err)
		}
	}
	return nil
}
