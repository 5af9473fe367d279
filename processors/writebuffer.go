package processors

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// canDefer says whether the task's changes can wait: no range of keys, and no timers, which are read from the store.
func (t *task) canDefer() bool {
	if _, timed := t.handler.(stream.TimerHandler); timed {
		return false
	}
	return !slices.ContainsFunc(t.changes.List, func(c stream.Change) bool { return c.Op == stream.OpDeleteRange })
}

// flushBuffer gives the store all that waits of a task, with the meta that belongs to it.
func (t *task) flushBuffer(b *pebble.Batch) error {
	if err := t.buffer.FlushTo(b); err != nil {
		return fmt.Errorf("batch of partition %d: %w", t.p, err)
	}
	return store.PutMeta(b, t.p, t.meta)
}

// deferWrites says whether the changes of the transaction that just committed may wait: while there is more to read than a
// transaction takes, not for long, and not without bound.
func (w *worker) deferWrites() bool {
	if !w.backlogged {
		return false
	}
	bytes := 0
	for _, t := range w.tasks {
		if t.buffer == nil {
			continue
		}
		if t.buffer.Overdue() {
			return false
		}
		bytes += t.buffer.Bytes
	}
	return bytes < w.cfg.CommitBytes/w.cfg.Workers
}

// flushBuffered writes what waits, once the worker is not behind any more.
func (w *worker) flushBuffered() error {
	if w.backlogged {
		return nil
	}
	size := 4096
	var waiting []*task // mostly none, and this runs with every poll
	for _, t := range w.tasks {
		if t.buffer != nil && t.buffer.Pending() {
			size, waiting = size+t.buffer.Bytes+512, append(waiting, t)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	b := w.store.DB.NewBatchWithSize(size)
	defer func() { _ = b.Close() }()
	for _, t := range waiting {
		if err := t.flushBuffer(b); err != nil {
			return err
		}
	}
	return b.Commit(pebble.NoSync)
}
