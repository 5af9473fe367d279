package stream

import (
	"cmp"
	"context"
	"fmt"
)

// DefaultSourceBytes is the default bound of a source's queue.
const DefaultSourceBytes = 4 << 20

// FromSource makes a Processor.New of a source.
//
//	stream.Processor{
//		App: "mirror", Inputs: []string{"mirror.control"}, Outputs: stream.OutputTopics("copies"),
//		New: stream.FromSource(0, openMirror),
//	}
//
// open makes the source of a task from its committed state. It makes no request and starts nothing:
// the runtime also opens tasks to inspect their state. A nil Source is for a task that has nothing
// to read.
//
// queueBytes bounds what was read and not handed over, and so the size of a transaction: the keys,
// values and headers of all batches, and 64 bytes for each change. One batch may exceed it. 0 is
// DefaultSourceBytes.
func FromSource(queueBytes int, open func(Task) (Source, error)) func(Task) (Handler, error) {
	return func(t Task) (Handler, error) {
		if queueBytes < 0 {
			return nil, fmt.Errorf("a source's queue of %d bytes: give a positive number, or 0 for %d", queueBytes, DefaultSourceBytes)
		}
		s, err := open(t)
		if err != nil {
			return nil, err
		}
		h := &sourceHandler{source: s, queue: newSourceQueue(cmp.Or(queueBytes, DefaultSourceBytes)), ended: make(chan struct{})}
		h.control, _ = s.(Handler)
		if l, ok := s.(CommitListener); ok {
			return &listeningSource{h, l}, nil
		}
		return h, nil
	}
}

// sourceHandler is the Handler of FromSource.
type sourceHandler struct {
	source  Source  // nil: nothing is read
	control Handler // the source, if it is one
	queue   *SourceQueue
	cancel  context.CancelFunc // of Read; nil before the first Flush
	ended   chan struct{}      // closed when Read has returned
	err     error              // of Read, once ended is closed
}

// listeningSource is the Handler of FromSource for a source that is a CommitListener.
type listeningSource struct {
	*sourceHandler
	CommitListener
}

// Written returns what the author wrote, for package internal/authored.
func (h *sourceHandler) Written() any { return h.source }

// Fold implements Handler.
func (h *sourceHandler) Fold(b *Batch) error {
	if h.control != nil {
		return h.control.Fold(b) //nolint:wrapcheck // it is the author's handler, which the runtime names
	}
	for i := range b.Records {
		b.Reject(i, "no_control", "the source of this partition takes no control records, or the partition has no source")
	}
	return nil
}

// Flush implements Handler. The first one starts Read: until then the handler may have been made
// only to inspect state.
func (h *sourceHandler) Flush(c Commit, ch *Changes) error {
	if h.cancel == nil {
		h.start()
	}
	readEnded := false
	select {
	case <-h.ended:
		readEnded = true
	default:
	}
	list := h.queue.take()
	if readEnded && len(list) == 0 && h.err != nil {
		return fmt.Errorf("read the source: %w", h.err)
	}
	for _, b := range list {
		b.handOver(c, ch)
	}
	if h.control != nil {
		return h.control.Flush(c, ch) //nolint:wrapcheck // as in Fold
	}
	return nil
}

func (h *sourceHandler) start() {
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(context.Background())
	if h.source == nil {
		close(h.ended)
		return
	}
	go func() {
		defer close(h.ended)
		h.err = h.source.Read(ctx, h.queue)
	}()
}

// Close implements Closer. What was pushed and not handed over is discarded: the next source of the
// task reads it again.
func (h *sourceHandler) Close() {
	if h.cancel != nil {
		h.cancel()
		<-h.ended
	}
	if c, ok := h.source.(Closer); ok {
		c.Close()
	}
}
