package stream

import (
	"context"
	"sync"
)

// SourceQueue takes batches from the goroutines of a Source to the next Flush, in the order in
// which they were pushed. It is bounded, and safe for concurrent use.
type SourceQueue struct {
	maxBytes int

	mu    sync.Mutex
	list  []*SourceBatch
	bytes int
	room  chan struct{} // closed when a Flush has emptied the queue
}

func newSourceQueue(maxBytes int) *SourceQueue {
	return &SourceQueue{maxBytes: maxBytes, room: make(chan struct{})}
}

// Push waits until the queue is below its bound, and then takes b, however large it is. The caller
// does not use b again. The error is that of ctx, which has ended: b was not taken.
func (q *SourceQueue) Push(ctx context.Context, b *SourceBatch) error {
	for ctx.Err() == nil {
		q.mu.Lock()
		if q.bytes < q.maxBytes {
			q.list = append(q.list, b)
			q.bytes += b.size()
			q.mu.Unlock()
			return nil
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// take removes all batches.
func (q *SourceQueue) take() []*SourceBatch {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	if len(list) > 0 {
		q.list, q.bytes = nil, 0
		close(q.room)
		q.room = make(chan struct{})
	}
	return list
}

// Bytes returns the size of the batches that wait for a Flush: their keys and values, and 64 bytes
// for each change.
func (q *SourceQueue) Bytes() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}
