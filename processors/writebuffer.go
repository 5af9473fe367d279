package processors

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// maxDeferred is the size of the changes of a transaction above which they do not wait. The rows of
// a large transaction are seldom written again by the next ones: to keep them costs more than it
// saves.
const maxDeferred = 2 << 20

// canDefer reports whether the changes of the task can wait in the write buffer. Those of a large
// transaction cannot. Deletions of ranges cannot, and neither can changes of a handler with timers,
// because timers are read from the store. Changes of which a commit is reported, or that may be
// watched, cannot: the store has them then.
func (t *task) canDefer() bool {
	if t.changes.Bytes() > maxDeferred {
		return false
	}
	if _, timed := t.handler.(stream.TimerHandler); timed {
		return false
	}
	if _, listens := t.handler.(stream.CommitListener); listens || len(t.unanswered) > 0 || t.inbox.watched() {
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
	var waiting []*task // mostly empty, and this runs after every poll
	for _, t := range w.tasks {
		if t.buffer != nil && t.buffer.Pending() {
			waiting = append(waiting, t)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return w.writeBuffers(waiting...)
}

// writeBuffers writes the buffered changes of tasks, and their meta, in one batch.
func (w *worker) writeBuffers(tasks ...*task) error {
	size := 4096
	for _, t := range tasks {
		size += t.buffer.Bytes + 512
	}
	b := w.store.DB.NewBatchWithSize(size)
	defer func() { _ = b.Close() }() // it was committed, or an error is returned
	for _, t := range tasks {
		if err := t.flushBuffer(b); err != nil {
			return err
		}
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	for _, t := range tasks {
		t.bufferStored()
	}
	return nil
}
