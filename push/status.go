package push

import (
	"cmp"
	"slices"
	"sync"
)

// Status is the state of the push of one partition.
type Status struct {
	Target    string
	Partition int32
	Next      int64 // the offset of the dataset to commit next; -1: the copy has no position
	End       int64 // the end of the dataset's committed records; -1: not known
	Pushed    int64 // rows pushed since the partition came to this process
	// AsOfMs is a time, Unix ms: the copy has the rows that were written before it. 0: not known.
	AsOfMs int64
	// Comparing is why both logs are compared now, a sentence; empty if the partition is followed.
	Comparing string
	Problem   string // why nothing is pushed now, a sentence; empty if rows are
	Stopped   bool   // Problem waits for an operator
}

// Lag returns the number of offsets of the dataset that are not committed at the target.
func (s Status) Lag() int64 {
	if s.End < 0 || s.Next < 0 {
		return 0
	}
	return max(0, s.End-s.Next)
}

// StatusRegistry holds the Status of each partition that this process pushes. The zero value is
// ready. It is safe for concurrent use.
type StatusRegistry struct {
	mu   sync.Mutex
	list map[*pusher]Status
}

// List returns all, ordered by target and partition.
func (r *StatusRegistry) List() (list []Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.list {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

func (r *StatusRegistry) set(p *pusher, s Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[*pusher]Status{}
	}
	r.list[p] = s
}

func (r *StatusRegistry) remove(p *pusher) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.list, p)
}

// status returns the state of the partition.
func (p *pusher) status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{
		Target: p.cfg.Target, Partition: p.task.Partition, Next: p.committed.Next, End: -1, Pushed: p.pushed, AsOfMs: p.committed.AsOfMs,
		Comparing: p.why,
	}
	if p.problem != nil {
		s.Problem, s.Stopped = p.problem.Error(), stops(p.problem)
	}
	if p.part == nil {
		return s
	}
	part := p.part.Status()
	if p.follows {
		s.End = part.End
	}
	if s.Problem == "" {
		s.Problem, s.Stopped = part.Reason, part.Stopped != nil && !again(part.Stopped)
	}
	if s.End >= 0 && s.Lag() == 0 && s.Next >= 0 && s.Problem == "" {
		s.AsOfMs = max(s.AsOfMs, part.EndAt.UnixMilli())
	}
	return s
}

// report publishes the state in the registry and in metrics.
func (p *pusher) report() {
	s := p.status()
	p.cfg.Registry.set(p, s)
	p.cfg.Metrics.set(s)
	p.cfg.outage.observe(s)
}
