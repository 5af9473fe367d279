package processors

import (
	"sync/atomic"

	"github.com/weirhq/weir/internal/keywatch"
	"github.com/weirhq/weir/stream"
)

// inbox is what other goroutines want of one handler: a commit soon, answers to questions, and
// reports of changes. It is made with the handler and closed with it, so that nothing reaches a
// handler that was discarded.
type inbox struct {
	worker  *worker
	task    *task
	handler stream.Handler
	broken  bool // a question has panicked: the worker is about to discard the handler

	// woken is set from a Wake until the next Flush. A closed inbox is woken for ever, so that a
	// late Wake does nothing.
	woken   atomic.Bool
	waiting atomic.Int32  // questions that the worker has not taken yet
	closed  chan struct{} // closed when the handler is discarded
	watches keywatch.Set
}

func newInbox(w *worker, t *task) *inbox {
	return &inbox{worker: w, task: t, closed: make(chan struct{})}
}

// wake is stream.Task.Wake.
func (in *inbox) wake() {
	if !in.woken.Load() && in.woken.CompareAndSwap(false, true) {
		in.worker.mailbox.nudge()
	}
}

// close ends an inbox, in the loop of the worker. in may be nil.
func (in *inbox) close() {
	if in != nil {
		in.woken.Store(true)
		close(in.closed)
		in.watches.Close()
	}
}

// directory has the inboxes of the running tasks of a process, by partition.
type directory []atomic.Pointer[inbox]

// enter makes the handler of an inbox known.
func (d directory) enter(in *inbox) {
	if p := in.task.p; int(p) < len(d) {
		d[p].Store(in)
	}
}

// leave ends what enter began. in may be nil.
func (d directory) leave(in *inbox) {
	if in != nil && int(in.task.p) < len(d) {
		d[in.task.p].CompareAndSwap(in, nil)
	}
}

// at returns the inbox of a partition, nil if this process does not run it.
func (d directory) at(p int32) *inbox {
	if p < 0 || int(p) >= len(d) {
		return nil
	}
	return d[p].Load()
}

// runningWhile calls fn and returns which partitions ran in this process all the while. One that
// has another handler after fn than before was released in between.
func (d directory) runningWhile(fn func()) []bool {
	before, running := make([]*inbox, len(d)), make([]bool, len(d))
	for p := range d {
		before[p] = d[p].Load()
	}
	fn()
	for p := range d {
		running[p] = before[p] != nil && d[p].Load() == before[p]
	}
	return running
}
