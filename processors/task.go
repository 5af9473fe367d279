package processors

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/processors/internal/replayrange"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/watermark"
)

type taskState uint8

const (
	taskBarrier   taskState = iota // needs a barrier in the worker's next transaction
	taskRestoring                  // its barrier is committed: the changelog's tail is being read
	taskRunning
	taskStopped // owned and paused, until an operator acts
)

func (s taskState) String() string {
	return [...]string{StateBarrier, StateRestoring, StateRunning, StateStopped}[s]
}

// task is one partition number of the processor in the worker that owns it.
type task struct {
	p          int32
	state      taskState
	stopReason error     // why it stopped
	token      string    // of its barrier
	barrier    int64     // the barrier's offset in the changelog, once acknowledged
	cancel     func()    // ends its takeover
	restorer   *restorer // of its last takeover
	ownsStore  bool      // the store's partition is this task's
	failed     int       // failures in a row of its own fault
	tries      int       // takeovers in a row that failed
	refused    refused   // since the last commit
	handler    stream.Handler
	inbox      *inbox      // of the handler
	unanswered []*question // of the open transaction: their callers wait for the commit

	meta       *changelogpb.TaskMeta // of the last applied transaction
	ids        map[string][]byte     // topic ids of the inputs
	next       map[string]int64      // next offset to take, by topic
	seq        uint64                // of the last committed transaction
	ownerEpoch uint64
	// When the state began, in Unix ms. The takeover of an empty changelog chooses it, and it never
	// changes: so the records of a state that was deleted are older than those of the next.
	incarnation uint64

	timers         *timers
	buffer         *store.WriteBuffer
	skips          changelog.Skips               // ranges of the inputs that are not in the state
	unreadable     *unreadable                   // why the task stops after its next commit, or is stopped
	failedFetches  map[string]*kafka.FailedFetch // by topic: inputs with an error, which may have moved the client
	watermark      *watermark.Watermark
	eventTime      func(topic string, r *stream.Record) int64 // Unix ms
	changes        stream.Changes
	rejects        []deadLetter         // of the open transaction
	folded         int                  // records of the open transaction
	fired          [2]int               // timers that fired in the open transaction, by clock
	flushed        time.Time            // last call of Flush
	lag            int64                // unread records at the last poll
	newest         int64                // timestamp of the last folded record
	poison         map[recordPos]string // stacks of records that panicked: they become dead letters when they are folded again
	foldSingly     map[string]int64     // fold record by record below these offsets
	poisonStreak   int                  // poison records in a row
	repairOffsets  bool                 // the group's offsets differ from the marker: commit the marker's
	offsetsExpired bool                 // after that the worker needs a new session, see needsNewSession
}

// recordPos is the position of a record in an input of the task.
type recordPos struct {
	topic  string
	offset int64
}

// errPoison aborts the transaction: a record panicked, and the memory of the handler cannot be
// trusted.
var errPoison = errors.New("a record panicked in Fold")

// poisonError is an errPoison with the stack of the panic, up to maxLoggedStack bytes.
type poisonError struct {
	error
	stack string
}

func (e *poisonError) Unwrap() error { return e.error }

// maxLoggedStack bounds the stack in a log event, in bytes. The dead letter has more of it.
const maxLoggedStack = 4 << 10

// take converts fetched records from the task's offset on, and advances the offset. A replay leaves
// out what the live processor has skipped.
func (t *task) take(topic string, in []*kgo.Record, replay *replayrange.Range, out []stream.Record) []stream.Record {
	end, skips := replay.End(topic, t.p), changelog.Skips(replay.SkipsOf(t.p))
	for {
		until := skips.Until(topic, t.next[topic], end)
		out, t.next[topic] = handler.Records(in, handler.OffsetRange{Next: t.next[topic], End: until}, out)
		if next := skips.Past(topic, t.next[topic]); next > t.next[topic] && t.next[topic] < end {
			t.next[topic] = next
			continue
		}
		return out
	}
}

// fold folds a batch: at once, or record by record where a record is known or suspected to be
// poison.
func (t *task) fold(b *stream.Batch, limit int) error {
	if len(t.poison) == 0 && t.foldSingly[b.Topic] == 0 {
		return t.foldAll(b)
	}
	one := *b
	for i := range b.Records {
		at := recordPos{b.Topic, b.Records[i].Offset}
		if text, bad := t.poison[at]; bad {
			t.poisonStreak++
			if t.poisonStreak > limit {
				return t.stop(
					fmt.Errorf(
						"%d records in a row panicked in Fold, the last at %s[%d]@%d: %s; the partition is stopped and no record is lost: deploy a handler that can fold them",
						t.poisonStreak, b.Topic, t.p, at.offset, firstLine(text)))
			}
			t.rejects = append(t.rejects, deadLetter{topic: b.Topic, rec: b.Records[i], reason: "panic", detail: text})
			continue
		}
		one.Records, one.Rejects = b.Records[i:i+1], nil
		if err := t.foldAll(&one); err != nil {
			return err
		}
		t.poisonStreak = 0
	}
	if last := b.Records[len(b.Records)-1].Offset; last+1 >= t.foldSingly[b.Topic] {
		delete(t.foldSingly, b.Topic)
	}
	return nil
}

// foldAll folds a batch and takes its rejected records.
func (t *task) foldAll(b *stream.Batch) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = t.recordPoison(b, v)
		}
	}()
	if err := t.handler.Fold(b); err != nil {
		return handler.NewError(t.p, fmt.Errorf("fold from %s@%d: %w", b.Topic, b.Records[0].Offset, err))
	}
	for _, r := range b.Rejects {
		t.rejects = append(t.rejects,
			deadLetter{topic: b.Topic, rec: b.Records[r.Index], reason: strings.ToValidUTF8(r.Reason, "\uFFFD"), detail: r.Detail})
	}
	t.folded += len(b.Records)
	return nil
}

// discardHandler closes the handler and forgets it. From now on nothing reaches it.
func (w *worker) discardHandler(t *task) {
	w.directory.leave(t.inbox)
	t.answerAll(fmt.Errorf("%w: partition %d", ErrNotCommitted, t.p))
	t.inbox.close()
	handler.Close(t.handler)
	t.handler, t.inbox = nil, nil
}

// recoverPanic, deferred around a call of the handler, turns a panic into an error of the task.
func (t *task) recoverPanic(what string, err *error) {
	if v := recover(); v != nil {
		*err = handler.NewError(t.p, fmt.Errorf("%s panicked: %v\n%s", what, v, debug.Stack()))
	}
}

// flush gets the changes of the handler and of the timers.
func (t *task) flush(c stream.Commit) (err error) {
	defer t.recoverPanic("flush", &err)
	if err := t.handler.Flush(c, &t.changes); err != nil {
		return handler.NewError(t.p, fmt.Errorf("flush: %w", err))
	}
	if err := t.changes.Err(); err != nil {
		return handler.NewError(t.p, fmt.Errorf("flush: %w", err))
	}
	if _, timed := t.handler.(stream.TimerHandler); !timed && t.timers.changed() {
		return handler.NewError(t.p, errors.New("the handler sets timers and has no OnTimer"))
	}
	t.timers.flush(&t.changes)
	return nil
}

// trackEventTime gives the task a watermark that begins at fromMs.
func (t *task) trackEventTime(p *stream.Processor, fromMs int64) {
	c := watermark.Config{Grain: p.Time.Grain, Lateness: p.Time.Lateness, Idle: p.Time.Idle}
	t.watermark, t.eventTime = watermark.New(c, p.Inputs, fromMs, time.Now()), p.Time.Of
}

// foldTimed folds a batch. For a handler with timers it cuts the batch where event time reaches
// another grain, and fires the timers that are due there.
func (t *task) foldTimed(b *stream.Batch, limit int) error {
	if _, timed := t.handler.(stream.TimerHandler); !timed {
		return t.fold(b, limit)
	}
	now, run, from := time.Now(), *b, 0
	t.watermark.Active(b.Topic, now)
	for i := range b.Records {
		beforeMs := t.watermark.Ms()
		if !t.watermark.Observe(b.Topic, t.eventTime(b.Topic, &b.Records[i])) || !t.watermark.Advance(now) {
			continue
		}
		if i > from {
			run.Records, run.Rejects, run.WatermarkMs, from = b.Records[from:i], nil, beforeMs, i
			if err := t.fold(&run, limit); err != nil {
				return err
			}
		}
		if err := t.fire(stream.EventTime, t.watermark.Ms()); err != nil {
			return err
		}
	}
	run.Records, run.Rejects, run.WatermarkMs = b.Records[from:], nil, t.watermark.Ms()
	return t.fold(&run, limit)
}

const (
	fireBatch = handler.FireBatch
	fireLimit = 10_000_000 // timers in a row at one time
	wallLimit = handler.WallLimit
)

// fire calls the handler with the timers that are due, until none is due.
func (t *task) fire(clock stream.Clock, nowMs int64) (err error) {
	timed, ok := t.handler.(stream.TimerHandler)
	if !ok {
		return nil
	}
	defer t.recoverPanic("OnTimer", &err)
	for n := 0; ; {
		due, err := t.timers.due(clock, nowMs, fireBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		t.fired[clock] += len(due)
		if n += len(due); n > fireLimit {
			return handler.NewError(t.p,
				fmt.Errorf("%d timers fired at one time, the last for %d ms: OnTimer keeps setting timers in the past", n, due[0].AtMs))
		}
		if err := timed.OnTimer(nowMs, due); err != nil {
			return handler.NewError(t.p, fmt.Errorf("OnTimer: %w", err))
		}
		if clock == stream.WallTime && n >= wallLimit {
			return nil
		}
	}
}

// fireDue fires the timers that are due at the end of a transaction.
func (t *task) fireDue(now time.Time) error {
	// Event time advances without records when an input becomes idle. A timer that was set in the
	// past waits for the next grain, or for a transaction without records.
	if t.watermark.Advance(now) || t.folded == 0 {
		if err := t.fire(stream.EventTime, t.watermark.Ms()); err != nil {
			return err
		}
	}
	return t.fire(stream.WallTime, now.UnixMilli())
}

// maxFailed is the number of failures in a row, each by its own fault, that a task may have. The
// next failure stops the task.
const maxFailed = 5

// recordFailure counts a failure that is the task's own, and stops the task after too many in a
// row.
func (t *task) recordFailure(err error) {
	t.stopReason = err
	if t.failed++; t.failed > maxFailed {
		t.state, t.stopReason = taskStopped, fmt.Errorf("%d tries in a row failed: %w", t.failed, err)
	}
}

// refused counts transactions that the brokers have refused because of a missing right.
type refused struct {
	pause time.Duration // after the last
	until time.Time     // no barrier before
}

// refuse delays the takeover of a task after a refused transaction: by 200 ms, and by up to 5 s
// after further ones.
func (t *task) refuse(cause error) {
	t.stopReason = cause
	t.refused.pause = min(max(2*t.refused.pause, 200*time.Millisecond), 5*time.Second)
	t.refused.until = time.Now().Add(t.refused.pause)
}

// recordPoison records where a panic was: the record, if the batch has only one, else the range to
// fold record by record.
func (t *task) recordPoison(b *stream.Batch, v any) error {
	first, last, stack := b.Records[0].Offset, b.Records[len(b.Records)-1].Offset, debug.Stack()
	if len(b.Records) == 1 {
		t.poison[recordPos{b.Topic, first}] = fmt.Sprintf("%v\n%s", v, stack)
	} else {
		t.foldSingly[b.Topic] = last + 1
	}
	err := fmt.Errorf("%w, at offset %d to %d of %s[%d]: %v", errPoison, first, last, b.Topic, b.Partition, v)
	return &poisonError{err, string(stack[:min(len(stack), maxLoggedStack)])}
}

// stop stops the partition until an operator acts.
func (t *task) stop(why error) error {
	t.state, t.stopReason, t.unreadable = taskStopped, why, nil
	return &changelog.StoppedError{Partition: t.p, Err: why}
}

// committed returns the next offset of topic in the last committed transaction.
func (t *task) committed(topic string) int64 {
	for _, in := range t.meta.GetMarker().GetInputs() {
		if in.Topic == topic {
			return in.Next
		}
	}
	return 0
}

// forgetPoison forgets the poison records below the committed offsets.
func (t *task) forgetPoison() {
	for at := range t.poison {
		if at.offset < t.committed(at.topic) {
			delete(t.poison, at)
		}
	}
}

// due reports whether a running task needs a commit although it has read nothing.
func (t *task) due(now time.Time, tick time.Duration) bool {
	return t.repairOffsets || t.inbox.woken.Load() || now.Sub(t.flushed) >= tick || t.timers.ready(stream.WallTime, now.UnixMilli())
}

func (t *task) hasChanges() bool {
	return t.folded > 0 || len(t.rejects) > 0 || len(t.changes.List) > 0 || len(t.changes.Counts) > 0 || t.timers.changed() ||
		t.offsetsMoved()
}

// offsetsMoved reports whether an input offset is ahead of the committed one, also if only control
// records are between them.
func (t *task) offsetsMoved() bool {
	for topic, next := range t.next {
		if next != t.committed(topic) {
			return true
		}
	}
	return false
}

func firstLine(s string) string {
	for i := range len(s) {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	return s
}
