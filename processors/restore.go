package processors

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// restoreResult is the result of a takeover. The loop of the worker makes it a running task.
type restoreResult struct {
	meta           *changelogpb.TaskMeta
	ids            map[string][]byte
	next           map[string]int64
	start          map[string]int64 // first offset of each input
	ownerEpoch     uint64
	incarnation    uint64
	handler        stream.Handler
	inbox          *inbox
	timers         *timers
	buffer         *store.WriteBuffer
	skips          changelog.Skips // ranges of the inputs that are not in the state
	warm           bool            // the handler is that of the standby
	repairOffsets  bool            // the group's offsets differ from the marker: the next transaction commits the marker's
	offsetsExpired bool            // the group has no offsets, so the client has none
}

// discard closes the handler of a result that is not used. r may be nil.
func (r *restoreResult) discard() {
	if r != nil {
		r.inbox.close()
		handler.Close(r.handler)
	}
}

// restorer takes one partition over, in goroutines of its own: the other partitions of the worker
// continue.
type restorer struct {
	w          *worker
	t          *task // belongs to the loop of the worker; a restorer only passes it on
	p          int32
	token      string // of its barrier
	barrier    int64  // its offset in the changelog
	tries      int
	ctx        context.Context // ends when the partition is released
	stopWatch  func()          // ends watch
	began      time.Time
	rebuild    bool // begin with an empty store, because the changelog lacks the store's last transaction
	applier    *changelog.Applier
	warm       *handler.Warm          // of the standby of this process; nil without one
	waitReason atomic.Pointer[string] // what the takeover waits for, for the log
	progress   atomic.Pointer[changelog.Progress]
	tailRead   atomic.Bool // the changelog is read up to the barrier
}

func (r *restorer) setWaitReason(what string) { r.waitReason.Store(&what) }

// stop returns the error that stops the partition.
func (r *restorer) stop(why error) error { return changelog.Stopped(r.p, why) }

// restore starts the takeover of tasks with a committed barrier.
func (w *worker) restore(life context.Context, tasks []*task) {
	var list []*restorer
	for _, t := range tasks {
		r := w.restorer(life, t)
		if t.ownsStore || w.store.TryAcquire(t.p) {
			list = append(list, r)
			continue
		}
		w.restores.Go(func() {
			if w.store.Acquire(r.p, r.ctx.Done()) {
				w.takeOver(life, []*restorer{r})
			}
		})
	}
	if len(list) > 0 {
		w.restores.Go(func() { w.takeOver(life, list) })
	}
}

// restorer makes the restorer of a task and starts its watch.
func (w *worker) restorer(life context.Context, t *task) *restorer {
	r := &restorer{w: w, t: t, p: t.p, token: t.token, barrier: t.barrier, tries: t.tries, began: time.Now()}
	r.setWaitReason("another worker of this process to release the partition")
	ctx, cancel := context.WithCancel(life)
	watch, enough := context.WithCancel(ctx)
	r.ctx, t.cancel, r.stopWatch, t.restorer = ctx, cancel, enough, r
	t.state = taskRestoring
	w.restores.Go(func() { r.watch(watch) })
	return r
}

// report passes the result of a takeover to the loop of the worker. A failure is passed on after a
// pause, so that the retry does not meet the same cause.
func (r *restorer) report(res *restoreResult, err error) {
	r.stopWatch()
	if r.applier != nil {
		err = errors.Join(err, r.applier.Close())
	}
	r.returnWarm()
	took := time.Since(r.began)
	r.w.restores.Go(func() {
		if err != nil {
			pause.For(r.ctx, min(5*time.Second, time.Duration(1+r.tries)*100*time.Millisecond))
		}
		r.w.mailbox.post(func() { r.w.onRestored(r.t, res, err, took) })
	})
}

// onRestored ends a takeover, in the loop of the worker.
func (w *worker) onRestored(t *task, res *restoreResult, err error, took time.Duration) {
	t.cancel()
	if w.tasks[t.p] != t { // the partition was released during the takeover
		res.discard()
		w.store.Release(t.p)
		return
	}
	t.ownsStore = true
	if err != nil {
		res.discard() // closing the applier may have failed after the handler was made
	}
	var stopped *changelog.StoppedError
	switch {
	case errors.Is(err, ErrPartlyMoved), errors.Is(err, ErrMovedAway):
		w.final = err
	case errors.As(err, &stopped):
		t.state, t.stopReason, t.unreadable = taskStopped, stopped.Err, nil
		w.log.Error().Int32("partition", t.p).Err(stopped.Err).Msg("partition_stopped")
	case err != nil:
		t.tries++
		t.state, t.stopReason = taskBarrier, err
		w.log.Warn().Int32("partition", t.p).Err(err).Int("tries", t.tries).Msg("takeover_failed")
		var own *handler.Error
		if errors.As(err, &own) {
			t.recordFailure(err)
		}
	default:
		if t.next = res.next; !w.seek(t) && res.repairOffsets && !res.offsetsExpired {
			// The client has not fetched the offsets of the group yet. When it does, it seeks to
			// them, and not to the marker: try again then.
			res.discard()
			t.state = taskBarrier
			break
		}
		t.incarnation = res.incarnation
		t.meta, t.ids, t.ownerEpoch, t.handler, t.repairOffsets, t.offsetsExpired = res.meta, res.ids, res.ownerEpoch, res.handler,
			res.repairOffsets, res.offsetsExpired
		t.buffer, t.inbox, t.skips, t.unreadable = res.buffer, res.inbox, res.skips, nil
		t.timers = res.timers
		t.trackEventTime(w.proc, t.meta.GetMarker().GetWatermarkMs())
		t.seq = t.meta.GetMarker().GetSequence()
		t.flushed = time.Now()
		t.state, t.tries = taskRunning, 0
		w.directory.enter(t.inbox)
		if !t.offsetsExpired { // else the worker starts a new session, which fetches the offsets
			w.resume(t)
		}
		w.cfg.Metrics.Restores.WithLabelValues(w.proc.App).Inc()
		w.log.Info().Int32("partition", t.p).Uint64("owner_epoch", t.ownerEpoch).Dur("took_ms", took).Bool("warm", res.warm).
			Msg("partition_running")
	}
	w.publish()
}

// seek sets the client to the offsets of the task. It reports whether the client has an offset for
// each input of the task. After an abort the client rewinds to what it takes to be committed: to
// offset 0 where it never committed, and to a wrong offset if a commit succeeded whose answer was
// an error.
func (w *worker) seek(t *task) bool {
	var at []kafka.Position
	cached, all := w.sess.Client().CommittedOffsets(), true
	for topic, next := range t.next {
		c, ok := cached[topic][t.p]
		if all = all && ok; ok && c.Offset != next {
			at = append(at, kafka.Position{Topic: topic, Partition: t.p, Offset: next})
		}
	}
	kafka.Seek(w.sess.Client(), at...)
	return all
}

// resume lets the client read the inputs of a task on, each from the offset of the task. An error
// moves the client without a change of the offsets that seek compares.
func (w *worker) resume(t *task) {
	inputs := w.unfinishedInputs(t)
	var at []kafka.Position
	for topic := range inputs {
		if t.failedFetches[topic] != nil {
			at = append(at, kafka.Position{Topic: topic, Partition: t.p, Offset: t.next[topic]})
		}
	}
	kafka.Seek(w.sess.Client(), at...)
	w.sess.Client().ResumeFetchPartitions(inputs)
}

// unfinishedInputs returns the inputs of a task that are not at the end of a replay.
func (w *worker) unfinishedInputs(t *task) map[string][]int32 {
	m := map[string][]int32{}
	for _, topic := range w.proc.Inputs {
		if t.next[topic] < w.cfg.replay.End(topic, t.p) {
			m[topic] = []int32{t.p}
		}
	}
	return m
}
