package processors

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// restoreResult is what a takeover found out. The worker's loop turns it into a running task.
type restoreResult struct {
	meta           *changelogpb.TaskMeta
	ids            map[string][]byte
	next           map[string]int64
	start          map[string]int64 // first offset that an input still has
	ownerEpoch     uint64
	handler        stream.Handler
	timers         *timers
	buffer         *store.WriteBuffer
	repairOffsets  bool // the group's offsets are not the marker's: the next transaction sets them
	offsetsExpired bool // the group has no offsets at all, and so the client has none
}

// discard throws away what a takeover made and nobody takes; r may be nil.
func (r *restoreResult) discard() {
	if r != nil {
		handler.Close(r.handler)
	}
}

// restorer takes over one partition, beside the worker's loop: its other partitions go on meanwhile.
type restorer struct {
	w          *worker
	t          *task // the loop's: not to be touched here
	p          int32
	token      string // of its barrier
	barrier    int64  // where that is in the changelog
	tries      int
	ctx        context.Context // ends when the partition is released
	stopWatch  func()          // ends the watch over it
	began      time.Time
	rebuild    bool // the store is not of this log
	applier    *changelog.Applier
	waitReason atomic.Pointer[string] // what for, for people
	progress   atomic.Pointer[changelog.Progress]
}

func (r *restorer) setWaitReason(what string) { r.waitReason.Store(&what) }

func (r *restorer) stop(why error) error { return changelog.Stopped(r.p, why) }

// restore starts the takeover of tasks whose barrier is committed.
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

func (w *worker) restorer(life context.Context, t *task) *restorer {
	r := &restorer{w: w, t: t, p: t.p, token: t.token, barrier: t.barrier, tries: t.tries, began: time.Now()}
	r.setWaitReason("another worker to let the partition go")
	ctx, cancel := context.WithCancel(life)
	watch, enough := context.WithCancel(ctx)
	r.ctx, t.cancel, r.stopWatch, t.restorer = ctx, cancel, enough, r
	t.state = taskRestoring
	w.restores.Go(func() { r.watch(watch) })
	return r
}

// report hands what came of the takeover to the worker's loop; a failure after a while, to give its cause time to pass.
func (r *restorer) report(res *restoreResult, err error) {
	r.stopWatch()
	if r.applier != nil {
		err = errors.Join(err, r.applier.Close())
	}
	took := time.Since(r.began)
	r.w.restores.Go(func() {
		if err != nil {
			pause.For(r.ctx, min(5*time.Second, time.Duration(1+r.tries)*100*time.Millisecond))
		}
		r.w.mailbox.post(func() { r.w.onRestored(r.t, res, err, took) })
	})
}

// onRestored is the end of a takeover, in the worker's loop.
func (w *worker) onRestored(t *task, res *restoreResult, err error, took time.Duration) {
	t.cancel()
	if w.tasks[t.p] != t { // released meanwhile
		res.discard()
		w.store.Release(t.p)
		return
	}
	t.ownsStore = true
	if err != nil {
		res.discard() // the replay may have failed to end after it was made
	}
	var stopped *changelog.StoppedError
	switch {
	case errors.As(err, &stopped):
		t.state, t.stopReason = taskStopped, stopped.Err
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
			// The client has yet to ask the group, and then it goes where the group is, not where the marker is.
			res.discard()
			t.state = taskBarrier
			break
		}
		t.meta, t.ids, t.ownerEpoch, t.handler, t.repairOffsets, t.offsetsExpired = res.meta, res.ids, res.ownerEpoch, res.handler, res.repairOffsets, res.offsetsExpired
		t.buffer = res.buffer
		t.timers, t.watermark = res.timers, newWatermark(w.proc.Time, w.proc.Inputs, t.meta.GetMarker().GetWatermarkMs(), time.Now())
		t.seq = t.meta.GetMarker().GetSequence()
		t.flushed = time.Now()
		t.state, t.tries = taskRunning, 0
		if !t.offsetsExpired { // else the session begins anew, with offsets
			w.sess.Client().ResumeFetchPartitions(w.unfinishedInputs(t))
		}
		w.cfg.Metrics.Restores.WithLabelValues(w.proc.App).Inc()
		w.log.Info().Int32("partition", t.p).Uint64("owner_epoch", t.ownerEpoch).Dur("took", took).Msg("partition_running")
	}
	w.publish()
}

// seek puts the client where the task is, and says whether the client knows all of the task's inputs. After an abort the
// client goes back to what it believes to be committed: to 0 where it never committed anything, and too far if a commit went
// through whose answer was an error.
func (w *worker) seek(t *task) bool {
	at, cached, all := map[string]map[int32]kgo.EpochOffset{}, w.sess.Client().CommittedOffsets(), true
	for topic, next := range t.next {
		c, ok := cached[topic][t.p]
		if all = all && ok; ok && c.Offset != next {
			at[topic] = map[int32]kgo.EpochOffset{t.p: {Epoch: -1, Offset: next}}
		}
	}
	w.sess.Client().SetOffsets(at)
	return all
}
