package processors

import (
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/topics"
)

// What the tests of package processors_test need of the inside of a Runtime. They are outside of
// the package because they run on processorstest, which imports it.

// Worker is a worker, at a failpoint.
type Worker = worker

const (
	TopicsWait = topics.Wait
	MaxDamages = maxDamages
)

// SetFailpoint calls f at every failpoint of every worker, before the hook in the context of Run.
func (c *Config) SetFailpoint(f func(w *Worker, at string) error) { c.failpoint = f }

// SetRefreshLag sets how many input records the local tables of a standby may lack.
func (c *Config) SetRefreshLag(n int64) { c.refreshLag = n }

// FoldedRecords returns the number of records in the transaction that is being committed.
func (w *worker) FoldedRecords() (n int) {
	for _, part := range w.commits {
		n += part.task.folded
	}
	return n
}

// CommittingTasks returns the number of tasks in the transaction that is being committed.
func (w *worker) CommittingTasks() int { return len(w.commits) }

// BufferedTasks returns the number of tasks with changes in the write buffer.
func (w *worker) BufferedTasks() (n int) {
	for _, t := range w.tasks {
		if t.buffer != nil && t.buffer.Pending() {
			n++
		}
	}
	return n
}

// WithStore calls f with the store of a Runtime that runs.
func (r *Runtime) WithStore(f func(s *store.Store)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.store != nil {
		f(r.store)
	}
}
