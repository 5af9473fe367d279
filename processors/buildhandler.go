package processors

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/stream"
)

// finish compares changelog and group offsets, and makes the handler. The store bounds how many
// partitions do so at a time.
func (r *restorer) finish(f *changelog.BrokerState) (*restoreResult, error) {
	r.setWaitReason("other takeovers of this process")
	if !r.w.store.BeginTakeover(r.ctx.Done()) {
		return nil, r.ctx.Err()
	}
	defer r.w.store.EndTakeover()
	meta := r.applier.Meta
	if err := r.checkMoved(meta.GetMarker()); err != nil {
		return nil, err
	}
	res := &restoreResult{
		meta: meta, ids: f.IDs, ownerEpoch: meta.GetMarker().GetOwnerEpoch() + 1, incarnation: meta.GetMarker().GetIncarnation(),
	}
	if meta.GetMarker() == nil {
		res.incarnation = uint64(time.Now().UnixMilli())
	}
	if err := r.compareOffsets(f, res); err != nil {
		return nil, err
	}
	r.carrySkips(res)
	return res, r.buildHandler(res)
}

// checkMoved returns ErrPartlyMoved if the state of the partition is a part of what a repartition
// has to write, or if it is empty while a former application has a state, and ErrMovedAway if a
// repartition has moved it. A repartition may have begun after the checks at the start of this
// process.
func (r *restorer) checkMoved(last *changelogpb.Marker) error {
	switch {
	case last.GetMove() == changelogpb.Move_MOVE_INCOMPLETE:
		return fmt.Errorf("%w: partition %d of %s has a part of its state", ErrPartlyMoved, r.p, r.w.proc.Changelog)
	case last.GetMovedTo() != "":
		return fmt.Errorf("%w: partition %d of %s to %s", ErrMovedAway, r.p, r.w.proc.Changelog, last.GetMovedTo())
	case last == nil && r.w.cfg.former != "":
		return fmt.Errorf("%w: partition %d of %s has no state, and %s has", ErrPartlyMoved, r.p, r.w.proc.Changelog, r.w.cfg.former)
	}
	return nil
}

// buildHandler makes the handler and rebuilds its volatile state, or continues with the handler of
// the standby.
func (r *restorer) buildHandler(res *restoreResult) (err error) {
	r.setWaitReason("its handler, which reads the store and a part of its inputs")
	res.timers = newTimers(r.p, r.w.store.DB)
	res.inbox = newInbox(r.w, r.t)
	task := stream.Task{Partition: r.p, OwnerEpoch: res.ownerEpoch, Next: res.next, Timers: res.timers, Wake: res.inbox.wake}
	if res.meta.Local != nil {
		task.LocalNext = changelogpb.NextOffsets(res.meta.Local)
	}
	if r.continueWarm(task, res); res.handler == nil {
		v := handler.Builder{
			Kafka: r.w.cfg.Kafka, Proc: r.w.proc, Log: r.w.log, DB: r.w.store.DB, InputStarts: res.start,
			Skips: slices.Concat(changelog.Skips(r.w.cfg.replay.SkipsOf(r.p)), res.skips),
			Task:  task,
		}
		res.buffer = &v.Buffer
		if res.handler, err = v.Build(r.ctx); err != nil {
			return err
		}
	}
	res.inbox.handler = res.handler
	if _, timed := res.handler.(stream.TimerHandler); !timed {
		return r.checkNoTimers(res)
	}
	return nil
}

// checkNoTimers stops a partition whose handler would never fire the timers of its state.
func (r *restorer) checkNoTimers(res *restoreResult) error {
	for _, clock := range []stream.Clock{stream.EventTime, stream.WallTime} {
		list, err := res.timers.stored(clock, never, 1)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			t := stream.Timer{Key: []byte(list[0][8:])}
			kind, key := t.Kind()
			return r.stop(
				fmt.Errorf(
					"the state has timers, such as that of kind %q and key %q for %d ms, and the handler has no OnTimer: they would be lost. Another version of the program has set them: run it, or add a function that takes them, which may do nothing", kind, key, timerTime(list[0])))
		}
	}
	res.timers.disable()
	return nil
}

// takeWarm takes the handler of the standby, if the applier continues where the handler is.
func (r *restorer) takeWarm() {
	if r.w.standby == nil {
		return
	}
	if r.warm == nil {
		r.warm = r.w.standby.handlers.handedOver.take(r.p)
	}
	if r.warm.IsAt(r.applier.Meta) {
		r.applier.Follow(r.warm)
		return
	}
	r.warm.Close()
	r.warm = nil
}

// continueWarm makes the handler of the standby the task's.
func (r *restorer) continueWarm(task stream.Task, res *restoreResult) {
	warm := r.warm
	if r.warm = nil; warm == nil {
		return
	}
	err := warm.Err()
	if err == nil {
		res.handler, res.buffer, err = warm.TakeOver(task)
	}
	if res.warm = err == nil; !res.warm {
		r.w.log.Warn().Int32("partition", r.p).Err(err).Msg("standby_handler_dropped")
		warm.Close()
	}
}

// returnWarm gives a handler that was not needed back, for the next try.
func (r *restorer) returnWarm() {
	if r.warm != nil {
		r.w.standby.handlers.handedOver.put(r.p, r.warm)
		r.warm = nil
	}
}
