package processors

import (
	"slices"
	"sync"

	"github.com/weirhq/weir/processors/changelogpb"
)

// plan is the whole assignment of a worker as of the last synchronisation of the group.
type plan struct {
	mu         sync.Mutex
	partitions []int32
}

func (p *plan) set(partitions []int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.partitions = partitions
}

func (p *plan) get() []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.partitions)
}

// says is what the worker tells the group: who it is, and up to where its process's store has each partition.
func (w *worker) says() *changelogpb.Member {
	m := &changelogpb.Member{Instance: w.cfg.Instance, Endpoint: w.cfg.Endpoint, Next: map[int32]int64{}}
	for p := range w.total {
		if meta, err := w.store.meta(w.store.db, p); err == nil && meta.Marker != nil && !tooOld(meta) {
			m.Next[p] = meta.ChangelogNext
		}
	}
	return m
}

// given is told what the group gave.
func (w *worker) given(partitions []int32, d *changelogpb.Duty) {
	w.plan.set(partitions)
	w.standby.given(w.id, partitions, d)
}
