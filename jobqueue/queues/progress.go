package queues

import (
	"maps"
	"sync"

	"github.com/weirhq/weir/jobqueue"
)

// attemptProgress is what an attempt has reported about itself.
type attemptProgress struct {
	attempt uint8
	text    string
}

// progressTable has the progress of running jobs. It is in memory only: agents repeat it. The zero
// value is empty, and its methods are safe for concurrent use.
type progressTable struct {
	mu   sync.Mutex
	jobs map[jobqueue.ID]attemptProgress
}

func (t *progressTable) set(id jobqueue.ID, p attemptProgress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.jobs == nil {
		t.jobs = map[jobqueue.ID]attemptProgress{}
	}
	t.jobs[id] = p
}

// get returns the progress of an attempt, empty if none is known.
func (t *progressTable) get(id jobqueue.ID, attempt uint8) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.jobs[id]; p.attempt == attempt {
		return p.text
	}
	return ""
}

// drop drops the progress of jobs that do not run.
func (t *progressTable) drop(runs func(jobqueue.ID) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.jobs, func(id jobqueue.ID, _ attemptProgress) bool { return !runs(id) })
}
