package processors

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// canDefer reports whether the changes of the task can wait in the write buffer. Deletions of
// ranges cannot, and neither can those of a handler with timers, because timers are read from the
// store.
func (t *task) canDefer() bool {
	if _, timed := t.handler.(stream.TimerHandler); timed {
		return false
	}
	return !slices.ContainsFunc(t.changes.List, func(c stream.Change) bool { return c.Op == stream.OpDeleteRange })
}

// flushBuffer adds the buffered changes of a task and their meta to a batch.
func (t *task) flushBuffer(b *pebble.Batch) error {
	if err := t.buffer.FlushTo(b); err != nil {
		return fmt.Errorf("batch of partition %d: %w", t.p, err)
	}
	return store.PutMeta(b, t.p, t.meta)
}

// deferWrites reports whether the changes of the transaction that just committed may wait: the
// worker is behind, no change has waited too long, and the buffers have room.
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

// flushBuffered writes the buffered changes once the worker is no longer behind.
func (w *worker) flushBuffered() error {
	if w.backlogged {
		return nil
	}
	size := 4096
	var waiting []*task // mostly empty, and this runs after every poll
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
