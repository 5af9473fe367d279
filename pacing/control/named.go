package control

import "strings"

// Controllers returns the controllers of this package, ordered by name.
func Controllers() []Controller { return []Controller{ASAP{}, Dual{}, PID{}, PTR{}, Ratio{}} }

// Named returns the controller of this package with a name: see Names.
func Named(name string) (c Controller, ok bool) {
	for _, c := range Controllers() {
		if c.Name() == name {
			return c, true
		}
	}
	return nil, false
}

// Names returns the names of the controllers of this package, for a sentence: asap, dual, ... or
// ratio.
func Names() string {
	var names []string
	for _, c := range Controllers() {
		names = append(names, c.Name())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// FollowsPlan reports whether a controller spends budgets by the plan of the day, and not as soon
// as it can: all do, except ASAP.
func FollowsPlan(controller string) bool { return controller != (ASAP{}).Name() }
