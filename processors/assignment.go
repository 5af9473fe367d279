package processors

import (
	"slices"
	"sync"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
)

// assignment is the whole assignment of a worker as of the last synchronisation of the group.
type assignment struct {
	mu         sync.Mutex
	partitions []int32
}

func (p *assignment) set(partitions []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partitions = partitions
}

func (p *assignment) get() []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.partitions)
}

// memberMetadata is what the worker tells the group: who it is, and up to where its process's store has each partition.
func (w *worker) memberMetadata() *changelogpb.Member {
	m := &changelogpb.Member{Instance: w.cfg.Instance, Endpoint: w.cfg.Endpoint, Next: map[int32]int64{}}
	for p := range w.partitions {
		if meta, err := w.store.Meta(w.store.DB, p); err == nil && meta.Marker != nil && !changelog.TooOld(meta) {
			m.Next[p] = meta.ChangelogNext
		}
	}
	return m
}

// onAssignment is told what the group gave.
func (w *worker) onAssignment(partitions []int32, d *changelogpb.WorkerAssignment) {
	w.assignment.set(partitions)
	w.standby.onAssignment(w.id, partitions, d)
}
