package handler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// Warm is the handler of a standby. It follows the changelog, as a changelog.Follower, and is at
// the same transaction as the store. One goroutine at a time uses it.
type Warm struct {
	builder *Builder
	handler stream.StandbyHandler
	timers  noTimers
	open    []stream.Change // of the open transaction

	at   string // the last transaction that it has, as changelogpb.CommitMetadata
	next int64  // changelog offset behind that transaction
	err  error  // why it cannot be used
}

// BuildWarm makes the handler of a standby from the state at meta. Reads of the handler fail once
// ctx has ended.
func BuildWarm(ctx context.Context, v *Builder, meta *changelogpb.TaskMeta) (w *Warm, err error) {
	defer v.recoverPanic(&err)
	w = &Warm{builder: v, at: changelogpb.CommitMetadata(meta.Marker), next: meta.ChangelogNext}
	v.Task.Timers, v.Cancelled = &w.timers, ctx
	h, err := v.make()
	if err != nil {
		return nil, err
	}
	v.Cancelled = nil
	_, rebuilds := h.(stream.Rebuilder)
	var ok bool
	if w.handler, ok = h.(stream.StandbyHandler); !ok || rebuilds {
		err = NewError(v.Task.Partition,
			fmt.Errorf("Processor.WarmStandbys is set, and %T is not a stream.StandbyHandler, or is a stream.Rebuilder", h))
	}
	w.checkTimers("New")
	if err = cmp.Or(err, w.err); err != nil {
		Close(h)
		return nil, err
	}
	return w, nil
}

// Change implements changelog.Follower.
func (w *Warm) Change(rec *kgo.Record) {
	c := stream.Change{Op: stream.OpPut, Table: rec.Key[0], Key: rec.Key[1:], Value: rec.Value}
	if rec.Value == nil {
		c.Op = stream.OpDelete
	}
	if w.err == nil && c.Table != stream.TimerTable {
		w.open = append(w.open, c)
	}
}

// Commit implements changelog.Follower.
func (w *Warm) Commit(m *changelogpb.Marker, next int64) {
	if w.err != nil {
		return
	}
	w.err = w.call("Follow", func() error { return w.handler.Follow(lastOfEach(w.open)) })
	w.checkTimers("Follow")
	clear(w.open)
	w.open, w.at, w.next = w.open[:0], changelogpb.CommitMetadata(m), next
}

// lastOfEach sorts changes by row, and keeps the last one of each row.
func lastOfEach(list []stream.Change) []stream.Change {
	same := func(a, b stream.Change) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), slices.Compare(a.Key, b.Key))
	}
	slices.Reverse(list)
	slices.SortStableFunc(list, same)
	return slices.CompactFunc(list, func(a, b stream.Change) bool { return same(a, b) == 0 })
}

// IsAt reports whether the handler has the state of a store, and drops what it has of a transaction
// that the store does not have. w may be nil.
func (w *Warm) IsAt(meta *changelogpb.TaskMeta) bool {
	if w == nil {
		return false
	}
	w.open = w.open[:0]
	return w.err == nil && meta.Marker != nil && meta.ChangelogNext == w.next && changelogpb.CommitMetadata(meta.Marker) == w.at
}

// TakeOver makes the handler the one of the owner. t has no functions to read yet: they are those
// of the Builder. buffer has what the owner has not written to the store.
func (w *Warm) TakeOver(t stream.Task) (h stream.Handler, buffer *store.WriteBuffer, err error) {
	was := &w.builder.Task
	t.Get, t.MultiGet, t.Scan, t.Range = was.Get, was.MultiGet, was.Scan, was.Range
	w.builder.Task = t
	if err := w.call("TakeOver", func() error { return w.handler.TakeOver(t) }); err != nil {
		return nil, nil, err
	}
	return w.handler.(stream.Handler), &w.builder.Buffer, nil //nolint:errcheck // Build returned it as one
}

// Err returns why the handler cannot be used any more.
func (w *Warm) Err() error { return w.err }

// MemoryBytes is the handler's estimate of its memory.
func (w *Warm) MemoryBytes() (n int64) {
	w.err = cmp.Or(w.err, w.call("MemoryBytes", func() error { n = w.handler.MemoryBytes(); return nil }))
	return n
}

// Close closes the handler, unless TakeOver has passed it on. w may be nil.
func (w *Warm) Close() {
	if w != nil {
		Close(w.handler.(stream.Handler)) //nolint:errcheck // Build returned it as one
	}
}

// call calls the handler and returns a panic as an error.
func (w *Warm) call(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = NewError(w.builder.Task.Partition, fmt.Errorf("%s panicked: %v\n%s", what, v, debug.Stack()))
		}
	}()
	if err := f(); err != nil {
		return NewError(w.builder.Task.Partition, fmt.Errorf("%s: %w", what, err))
	}
	return nil
}

func (w *Warm) checkTimers(what string) {
	if w.err == nil && w.timers.used {
		w.err = NewError(w.builder.Task.Partition, errors.New(what+" sets or cancels timers, and a standby has none: do so in TakeOver"))
	}
}

// noTimers are the timers of a standby.
type noTimers struct{ used bool }

func (t *noTimers) Set(stream.Timer)    { t.used = true }
func (t *noTimers) Cancel(stream.Timer) { t.used = true }
