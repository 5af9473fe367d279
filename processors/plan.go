package processors

import (
	"slices"
	"sync"
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
