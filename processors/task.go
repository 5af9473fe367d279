package processors

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

type taskState uint8

const (
	taskBarrier   taskState = iota // wants a barrier in the worker's next transaction
	taskRestoring                  // its barrier is committed: the changelog's tail is being read
	taskRunning
	taskStopped // owned, paused, and waiting for a person
)

func (s taskState) String() string {
	return [...]string{StateBarrier, StateRestoring, StateRunning, StateStopped}[s]
}

// task is one partition number of the processor, owned by one worker.
type task struct {
	p          int32
	state      taskState
	stopReason error     // why it stopped
	token      string    // of its barrier
	barrier    int64     // the barrier's offset in the changelog, once acknowledged
	cancel     func()    // ends its restore
	restorer   *restorer // of its last restore
	ownsStore  bool      // the store's partition is this task's
	failed     int       // failures in a row that were its own fault
	tries      int       // takeovers in a row that failed
	handler    stream.Handler

	meta       *changelogpb.TaskMeta // as of the last applied transaction
	ids        map[string][]byte     // topic ids of the inputs
	next       map[string]int64      // next input offset per topic, folded or not
	seq        uint64                // of the last committed transaction
	ownerEpoch uint64                // owner epoch

	timers         *timers
	buffer         *store.WriteBuffer
	watermark      *watermark
	changes        stream.Changes
	rejects        []deadLetter         // of the open transaction
	folded         int                  // records of the open transaction
	fired          [2]int               // timers of it, by clock
	flushed        time.Time            // last call of Flush
	lag            int64                // records to the end of the inputs, at the last poll
	newest         int64                // timestamp of the last folded record
	poison         map[recordPos]string // records that panicked: they go to the DLQ when met again
	foldSingly     map[string]int64     // fold record by record below these offsets
	poisonStreak   int                  // poison records without a good one between
	repairOffsets  bool                 // the group's offsets are not the marker's: commit them
	offsetsExpired bool                 // the session must begin anew after that, see restored
}

type recordPos struct {
	topic  string
	offset int64
}

// errPoison abandons the transaction: a record panicked and the handler's memory cannot be trusted any more.
var errPoison = errors.New("a record panicked in the fold")

// take is toRecords from where the task is, which moves on to where that ended.
func (t *task) take(topic string, in []*kgo.Record, end int64, out []stream.Record) []stream.Record {
	out, t.next[topic] = handler.Records(in, handler.OffsetRange{Next: t.next[topic], End: end}, out)
	return out
}

// fold gives a batch to the handler: at once, or one by one where a record of it is known or suspected to be poison.
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
				return t.stop(fmt.Errorf("%d records in a row panicked in the fold, the last at %s[%d]@%d: %s; the partition waits: deploy a fold that can read them, they are not lost",
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
		t.rejects = append(t.rejects, deadLetter{topic: b.Topic, rec: b.Records[r.Index], reason: r.Reason, detail: r.Detail})
	}
	t.folded += len(b.Records)
	return nil
}

// discardHandler throws the handler away.
func (t *task) discardHandler() {
	handler.Close(t.handler)
	t.handler = nil
}

// recoverPanic is deferred around a call of the handler: its panic is an error of the task.
func (t *task) recoverPanic(what string, err *error) {
	if v := recover(); v != nil {
		*err = handler.NewError(t.p, fmt.Errorf("%s panicked: %v\n%s", what, v, debug.Stack()))
	}
}

// flush asks the handler for its changes.
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

// foldTimed gives a batch to the handler in runs of one grain of event time, and fires what is due in between.
func (t *task) foldTimed(b *stream.Batch, limit int) error {
	if _, timed := t.handler.(stream.TimerHandler); !timed {
		return t.fold(b, limit)
	}
	now, run, from := time.Now(), *b, 0
	t.watermark.lastSeen[b.Topic] = now
	for i := range b.Records {
		if !t.watermark.observe(b.Topic, t.watermark.times.Of(b.Topic, &b.Records[i])) || !t.watermark.advance(now) {
			continue
		}
		if i > from {
			run.Records, run.Rejects, from = b.Records[from:i], nil, i
			if err := t.fold(&run, limit); err != nil {
				return err
			}
		}
		if err := t.fire(stream.EventTime, t.watermark.nowMs); err != nil {
			return err
		}
	}
	run.Records, run.Rejects = b.Records[from:], nil
	return t.fold(&run, limit)
}

const (
	fireBatch = 4096       // timers of one call
	fireLimit = 10_000_000 // timers in a row that others set
	// wallLimit is how many timers of the time of day fire in one transaction. After an outage all of them may be due: what each of
	// them says must fit into memory, and into the time that a transaction has. The others are late and come next.
	wallLimit = 5 * fireBatch
)

// fire calls the handler with what is due, until nothing is.
func (t *task) fire(clock stream.Clock, nowMs int64) (err error) {
	timed, ok := t.handler.(stream.TimerHandler)
	if !ok {
		return nil
	}
	defer t.recoverPanic("fire", &err)
	for n := 0; ; {
		due, err := t.timers.due(clock, nowMs, fireBatch)
		if err != nil || len(due) == 0 {
			return err
		}
		t.fired[clock] += len(due)
		if n += len(due); n > fireLimit {
			return handler.NewError(t.p, fmt.Errorf("%d timers fired at one time, the last for %d: Fire keeps setting timers in the past", n, due[0].AtMs))
		}
		if err := timed.OnTimer(nowMs, due); err != nil {
			return handler.NewError(t.p, fmt.Errorf("fire: %w", err))
		}
		if clock == stream.WallTime && n >= wallLimit {
			return nil
		}
	}
}

// fireDue fires what time alone brings about, at the end of a transaction.
func (t *task) fireDue(now time.Time) error {
	// An input may have become idle. And what a late record set in the past waits for time to advance, or for a quiet moment.
	if t.watermark.advance(now) || t.folded == 0 {
		if err := t.fire(stream.EventTime, t.watermark.nowMs); err != nil {
			return err
		}
	}
	return t.fire(stream.WallTime, now.UnixMilli())
}

// maxFailed is how often a task may fail in a row by its own fault before it waits for a person.
const maxFailed = 5

// recordFailure counts a failure that is the task's own, and stops it after too many.
func (t *task) recordFailure(err error) {
	t.stopReason = err
	if t.failed++; t.failed > maxFailed {
		t.state, t.stopReason = taskStopped, fmt.Errorf("%d tries in a row failed: %w", t.failed, err)
	}
}

// recordPoison remembers where the panic was: exactly, if the batch was one record, else as a range to walk with care.
func (t *task) recordPoison(b *stream.Batch, v any) error {
	if len(b.Records) == 1 {
		t.poison[recordPos{b.Topic, b.Records[0].Offset}] = fmt.Sprintf("%v\n%s", v, debug.Stack())
	} else {
		t.foldSingly[b.Topic] = b.Records[len(b.Records)-1].Offset + 1
	}
	return fmt.Errorf("%w: %v", errPoison, v)
}

// stop holds the partition back until a person decides.
func (t *task) stop(why error) error {
	t.state, t.stopReason = taskStopped, why
	return &changelog.StoppedError{Partition: t.p, Err: why}
}

// committed is the next offset of topic as of the last committed transaction.
func (t *task) committed(topic string) int64 {
	for _, in := range t.meta.GetMarker().GetInputs() {
		if in.Topic == topic {
			return in.Next
		}
	}
	return 0
}

// forgetPoison drops the poison marks that a committed transaction has passed.
func (t *task) forgetPoison() {
	for at := range t.poison {
		if at.offset < t.committed(at.topic) {
			delete(t.poison, at)
		}
	}
}

// due says whether a task that runs wants a commit though it read nothing.
func (t *task) due(now time.Time, tick time.Duration) bool {
	return t.repairOffsets || now.Sub(t.flushed) >= tick || t.timers.ready(stream.WallTime, now.UnixMilli())
}

func (t *task) hasChanges() bool {
	return t.folded > 0 || len(t.rejects) > 0 || len(t.changes.List) > 0 || t.timers.changed() || t.offsetsMoved()
}

// offsetsMoved reports whether an input offset is ahead of the committed one, be it by control records alone.
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
