package streamtest

import (
	"bytes"
	"slices"
	"time"

	"github.com/weirhq/weir/stream"
)

const (
	fireBatch = 4096 // timers of one call of OnTimer
	// maxFires is the number of calls of OnTimer in a row after which the handler is taken to set
	// timers in the past for ever.
	maxFires = 1000
)

// Commit ends the transaction at wall time nowMs, Unix ms: due timers fire, the handler flushes,
// state, timers, offsets and outputs are committed, and a stream.CommitListener is called. Without
// records and changes there is no transaction, as in the runtime. A nowMs before that of an earlier
// Commit is allowed, as clocks go backwards.
func (r *Runner) Commit(nowMs int64) {
	r.tb.Helper()
	r.flush(nowMs)
	idle := !r.folded && len(r.changes.List) == 0 && len(r.changes.Counts) == 0 && !r.timers.changed()
	for i := range r.changes.List {
		if c := &r.changes.List[i]; c.Op == stream.OpEmit {
			r.outputs = append(r.outputs, cloneOutput(c))
		} else {
			r.state.apply(c)
		}
	}
	r.timers.commit()
	for _, in := range r.inputs {
		in.committed = in.next
	}
	r.rejected, r.rejects = append(r.rejected, r.rejects...), nil
	r.markMs, r.folded = r.watermark.Ms(), false
	if idle { // the runtime writes no transaction
		return
	}
	for name, n := range r.changes.Counts {
		r.counts[name] += n
	}
	r.commits++
	if l, ok := r.handler.(stream.CommitListener); ok {
		l.Committed(r.commits)
	}
}

// Abort does what Commit does up to the commit itself, which fails: the handler is discarded, and a
// new one begins with the state of the last Commit.
func (r *Runner) Abort(nowMs int64) {
	r.tb.Helper()
	r.flush(nowMs)
	r.Crash()
}

// flush fires due timers and collects the handler's changes.
func (r *Runner) flush(nowMs int64) {
	r.tb.Helper()
	r.nowMs = nowMs
	r.woken.Store(false)
	if r.watermark.Advance(time.UnixMilli(nowMs)) || !r.folded {
		r.fire(stream.EventTime, r.watermark.Ms())
	}
	r.fire(stream.WallTime, nowMs)
	r.changes.Reset()
	c := stream.Commit{NowMs: nowMs, Incarnation: 1, OwnerEpoch: 1, Sequence: r.commits + 1, Next: r.next()}
	if err := r.handler.Flush(c, &r.changes); err != nil {
		r.tb.Fatalf("flush: %v", err)
	}
	if err := r.changes.Err(); err != nil {
		r.tb.Fatalf("flush: %v", err)
	}
	if _, timed := r.handler.(stream.TimerHandler); !timed && r.timers.changed() {
		r.tb.Fatal("the handler sets timers and has no OnTimer")
	}
}

// fire calls OnTimer with what is due, until nothing is.
func (r *Runner) fire(clock stream.Clock, nowMs int64) {
	r.tb.Helper()
	h, ok := r.handler.(stream.TimerHandler)
	if !ok {
		return
	}
	for n := 0; ; n++ {
		due := r.timers.due(clock, nowMs, fireBatch)
		if len(due) == 0 {
			return
		}
		if n == maxFires {
			r.tb.Fatalf("after %d calls of OnTimer timers are still due at %d: %v", n, nowMs, due[0])
		}
		if err := h.OnTimer(nowMs, due); err != nil {
			r.tb.Fatalf("timers due at %d: %v", nowMs, err)
		}
	}
}

// cloneOutput copies an emitted record, whose memory the next transaction reuses.
func cloneOutput(c *stream.Change) stream.Change {
	out, to := *c, *c.To
	to.Headers = slices.Clone(to.Headers)
	for i := range to.Headers {
		to.Headers[i].Value = bytes.Clone(to.Headers[i].Value)
	}
	out.Key, out.Value, out.To = bytes.Clone(c.Key), bytes.Clone(c.Value), &to
	return out
}
