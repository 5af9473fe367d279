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
	"github.com/weirhq/weir/stream"
)

// Local tables are not in the changelog: a takeover reads inputs again to complete them, which takes the longer the busier the
// inputs are. A standby does it ahead of time, partition by partition: it makes a handler of the state as it is, lets it warm
// up as in a takeover, and keeps what its Flush says of local tables. Everything else that the handler says is dropped, and so
// is the handler.
const (
	refreshEvery  = 2 * time.Second // between two partitions
	refreshBehind = 50_000          // input records that the local tables lack
)

// refreshed is what came of it.
type refreshed struct {
	of      *replay
	as      uint64 // transaction that it is as of
	local   []*changelogpb.Position
	changes []stream.Change
	err     error
}

// refresh begins to complete the local tables of the partition that lacks most, if one lacks enough.
func (f *standby) refresh(ctx context.Context) {
	if f.fresh != nil || time.Since(f.refreshed) < refreshEvery {
		return
	}
	var most *replay
	behind := f.cfg.refreshBehind
	for _, r := range f.held {
		if !r.consistent() {
			continue
		}
		have, lacks := positions(r.meta.Local), int64(0)
		for _, in := range r.meta.Marker.Inputs {
			lacks += in.Next - have[in.Topic]
		}
		if lacks > behind {
			most, behind = r, lacks
		}
	}
	if f.refreshed = time.Now(); most == nil {
		return
	}
	snap, meta := f.store.db.NewSnapshot(), proto.CloneOf(most.meta)
	done := make(chan refreshed, 1)
	f.fresh = done
	go func() {
		r := f.warmed(ctx, snap, meta, most.p)
		r.of, r.as, r.err = most, meta.Marker.Sequence, errors.Join(r.err, snap.Close())
		done <- r
		f.wake()
	}()
}

// warmed makes a handler as of meta and asks it for its local tables.
func (f *standby) warmed(ctx context.Context, snap *pebble.Snapshot, meta *changelogpb.TaskMeta, p int32) (r refreshed) {
	v := revival{kafka: f.cfg.Kafka, proc: f.proc, log: f.log, db: snap}
	v.task = stream.Task{Partition: p, OwnerEpoch: meta.Marker.OwnerEpoch, Next: positions(meta.Marker.Inputs), Timers: newTimers(p, snap)}
	if meta.Local != nil {
		v.task.LocalNext = positions(meta.Local)
	}
	if v.start, r.err = f.starts(ctx, p); r.err != nil {
		return r
	}
	h, err := v.handler(ctx)
	if r.err = err; err != nil {
		return r
	}
	defer closeHandler(h)
	if _, ok := h.(stream.Rebuilder); !ok {
		r.local = meta.Marker.Inputs // it has no memory to rebuild
		return r
	}
	t := &task{p: p, handler: h, timers: newTimers(p, snap)}
	t.timers.off()
	m := meta.Marker
	if r.err = t.flush(stream.Commit{NowMs: time.Now().UnixMilli(), OwnerEpoch: m.OwnerEpoch, Sequence: m.Sequence, Next: v.task.Next}); r.err != nil {
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

// starts asks where the inputs begin.
func (f *standby) starts(ctx context.Context, p int32) (map[string]int64, error) {
	cl, err := f.cfg.Kafka.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	return startsOf(ctx, kadm.NewClient(cl), f.proc.Inputs, p)
}

// takeRefreshed takes over what a refresh brought, unless the partition was released meanwhile.
func (f *standby) takeRefreshed() {
	var r refreshed
	select {
	case r = <-f.fresh:
		f.fresh = nil
	default:
		return
	}
	if f.held[r.of.p] != r.of {
		return
	}
	kept := false
	if r.err == nil {
		kept, r.err = r.of.keepLocal(r.as, r.local, r.changes)
	}
	if r.err != nil {
		f.log.Warn().Int32("partition", r.of.p).Err(r.err).Msg("standby_refresh_failed")
	}
	if !kept {
		return
	}
	f.log.Debug().Int32("partition", r.of.p).Int("changes", len(r.changes)).Msg("standby_refreshed")
}

// keepLocal takes changes of local tables that are complete up to local, as of transaction as. They are written with the next
// whole transaction: the state may have gone on meanwhile, as it has in a takeover. It keeps nothing if the state has become
// another one since.
func (a *replay) keepLocal(as uint64, local []*changelogpb.Position, changes []stream.Change) (kept bool, err error) {
	if a.rewritten > as {
		return false, nil
	}
	if err := applyChanges(a.batch, a.p, changes); err != nil {
		return false, fmt.Errorf("write store: %w", err)
	}
	if a.meta.Local = local; a.open {
		return true, nil
	}
	return true, a.flush()
}
