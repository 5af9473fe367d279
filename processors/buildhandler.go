package processors

import (
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/stream"
)

// finish compares changelog and group offsets, and makes the handler. The store bounds how many
// partitions do so at a time.
func (r *restorer) finish(f *changelog.BrokerState) (*restoreResult, error) {
	if !r.w.store.BeginTakeover(r.ctx.Done()) {
		return nil, r.ctx.Err()
	}
	defer r.w.store.EndTakeover()
	meta := r.applier.Meta
	res := &restoreResult{meta: meta, ids: f.IDs, ownerEpoch: meta.GetMarker().GetOwnerEpoch() + 1}
	if err := r.compareOffsets(f, res); err != nil {
		return nil, err
	}
	return res, r.buildHandler(res)
}

// buildHandler makes the handler and rebuilds its volatile state.
func (r *restorer) buildHandler(res *restoreResult) (err error) {
	res.timers = newTimers(r.p, r.w.store.DB)
	v := handler.Builder{
		Kafka: r.w.cfg.Kafka, Proc: r.w.proc, Log: r.w.log, DB: r.w.store.DB, InputStarts: res.start,
		Task: stream.Task{Partition: r.p, OwnerEpoch: res.ownerEpoch, Next: res.next, Timers: res.timers},
	}
	if res.meta.Local != nil {
		v.Task.LocalNext = changelogpb.NextOffsets(res.meta.Local)
	}
	res.buffer = &v.Buffer
	if res.handler, err = v.Build(r.ctx); err != nil {
		return err
	}
	if _, timed := res.handler.(stream.TimerHandler); !timed {
		res.timers.disable()
	}
	return nil
}
