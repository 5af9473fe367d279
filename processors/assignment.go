package processors

import (
	"slices"
	"sync"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
)

// assignment is the whole assignment of a worker since the last rebalance.
type assignment struct {
	mu         sync.Mutex
	partitions []int32
}

func (a *assignment) set(partitions []int32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.partitions = partitions
}

func (a *assignment) get() []int32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.partitions)
}

// memberMetadata returns what a member reports to the group: its process, and the changelog offset
// of each partition in the store of the process.
func (w *worker) memberMetadata() *changelogpb.Member {
	m := &changelogpb.Member{Instance: w.cfg.Instance, Endpoint: w.cfg.Endpoint, Next: map[int32]int64{}}
	for p := range w.partitions {
		if meta, err := w.store.Meta(w.store.DB, p); err == nil && meta.Marker != nil && !changelog.TooOld(meta) {
			m.Next[p] = meta.ChangelogNext
		}
	}
	return m
}

// onAssignment gets the assignment of the group.
func (w *worker) onAssignment(partitions []int32, d *changelogpb.WorkerAssignment) {
	w.assignment.set(partitions)
	w.standby.onAssignment(w.id, partitions, d)
}
