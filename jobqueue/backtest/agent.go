package backtest

import "slices"

// resource is the number of a resource that jobs prefer.
type resource int32

// agent is a simulated agent.
type agent struct {
	name  string
	free  int        // slots
	has   []bool     // by resource: its group always has it
	kept  []resource // resources that it has loaded, last used last
	retry bool       // the next poll may get a job
}

// keeps reports whether the agent has a resource.
func (a *agent) keeps(r resource) bool { return a.has[r] || slices.Contains(a.kept, r) }

// keepsAny reports whether the agent has one of the resources.
func (a *agent) keepsAny(list []resource) bool { return slices.ContainsFunc(list, a.keeps) }

// use marks the resources that a job prefers as used. If the agent has none of them, it loads all,
// and drops those that were least recently used beyond most.
func (a *agent) use(prefer []resource, most int) (hit bool, loaded, dropped []resource) {
	hit = a.keepsAny(prefer)
	for _, r := range prefer {
		if i := slices.Index(a.kept, r); i >= 0 {
			a.kept = append(slices.Delete(a.kept, i, i+1), r)
		} else if !hit {
			a.kept = append(a.kept, r)
			loaded = append(loaded, r)
		}
	}
	if n := len(a.kept) - most; n > 0 {
		dropped = slices.Clone(a.kept[:n])
		a.kept = slices.Delete(a.kept, 0, n)
	}
	return hit, loaded, dropped
}
