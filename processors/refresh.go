package processors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/stream"
)

// Local tables are not in the changelog: a takeover reads the inputs again to complete them, which
// takes longer the busier the inputs are. A standby does this ahead of time, one partition after
// another. It makes a handler from the state that it has, rebuilds it as a takeover does, and keeps
// the changes of local tables that its Flush returns. It drops the other changes, and the handler.
const (
	refreshEvery = 2 * time.Second // least time between two refreshes
	refreshLag   = 50_000          // input records that the local tables may lack
)

// refreshResult is the result of a refresh.
type refreshResult struct {
	applier  *changelog.Applier
	sequence uint64 // the last transaction of the state that the handler was made from
	local    []*changelogpb.Position
	changes  []stream.Change
	err      error
}

// refresh starts to complete the local tables of the partition that lacks most records, if it lacks
// more than refreshLag.
func (f *standby) refresh(ctx context.Context) {
	if f.refreshDone != nil || time.Since(f.lastRefresh) < refreshEvery {
		return
	}
	var most *changelog.Applier
	behind := f.cfg.refreshLag
	for _, r := range f.held {
		if !r.Consistent() {
			continue
		}
		have, lacks := changelogpb.NextOffsets(r.Meta.Local), int64(0)
		for _, in := range r.Meta.Marker.Inputs {
			lacks += in.Next - have[in.Topic]
		}
		if lacks > behind {
			most, behind = r, lacks
		}
	}
	if f.lastRefresh = time.Now(); most == nil {
		return
	}
	snap, meta := f.store.DB.NewSnapshot(), proto.CloneOf(most.Meta)
	done := make(chan refreshResult, 1)
	f.refreshDone = done
	go func() {
		r := f.rebuildLocal(ctx, snap, meta, most.Partition)
		r.applier, r.sequence, r.err = most, meta.Marker.Sequence, errors.Join(r.err, snap.Close())
		done <- r
		f.wake()
	}()
}

// rebuildLocal makes a handler from a snapshot and returns its local changes.
func (f *standby) rebuildLocal(ctx context.Context, snap *pebble.Snapshot, meta *changelogpb.TaskMeta, p int32) (r refreshResult) {
	v := handler.Builder{Kafka: f.cfg.Kafka, Proc: f.proc, Log: f.log, DB: snap, Skips: meta.Marker.Skips}
	v.Task = stream.Task{
		Partition: p, OwnerEpoch: meta.Marker.OwnerEpoch, Next: changelogpb.NextOffsets(meta.Marker.Inputs), Timers: newTimers(p, snap),
	}
	if meta.Local != nil {
		v.Task.LocalNext = changelogpb.NextOffsets(meta.Local)
	}
	if v.InputStarts, r.err = f.listInputStarts(ctx, p); r.err != nil {
		return r
	}
	h, err := v.Build(ctx)
	if r.err = err; err != nil {
		return r
	}
	defer handler.Close(h)
	if _, ok := h.(stream.Rebuilder); !ok {
		r.local = meta.Marker.Inputs // a handler that rebuilds nothing needs no input again
		return r
	}
	t := &task{p: p, handler: h, timers: newTimers(p, snap)}
	t.timers.disable()
	m := meta.Marker
	if r.err = t.flush(
		stream.Commit{
			NowMs: time.Now().UnixMilli(), Incarnation: m.Incarnation, OwnerEpoch: m.OwnerEpoch, Sequence: m.Sequence, Next: v.Task.Next,
		}); r.err != nil {
		return r
	}
	for _, c := range t.changes.List {
		if c.Op != stream.OpEmit && c.Table >= stream.FirstLocalTable {
			r.changes = append(r.changes, c)
		}
	}
	r.local = m.Inputs
	return r
}

// listInputStarts returns the first offsets of the inputs.
func (f *standby) listInputStarts(ctx context.Context, p int32) (map[string]int64, error) {
	cl, err := f.cfg.Kafka.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	return changelog.InputStarts(ctx, kadm.NewClient(cl), f.proc.Inputs, p)
}

// applyRefresh writes the result of a finished refresh to the store, unless the partition was
// released.
func (f *standby) applyRefresh() {
	var r refreshResult
	select {
	case r = <-f.refreshDone:
		f.refreshDone = nil
	default:
		return
	}
	if f.held[r.applier.Partition] != r.applier {
		return
	}
	kept := false
	if r.err == nil {
		kept, r.err = r.applier.KeepLocal(r.sequence, r.local, r.changes)
	}
	if r.err != nil {
		f.log.Warn().Int32("partition", r.applier.Partition).Err(r.err).Msg("standby_refresh_failed")
		return
	}
	if !kept {
		return
	}
	f.log.Debug().Int32("partition", r.applier.Partition).Int("changes", len(r.changes)).Msg("standby_refreshed")
}
