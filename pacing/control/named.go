package control

// Named returns the controller of this package with a name: asap, dual, pid, ptr or ratio.
func Named(name string) (c Controller, ok bool) {
	for _, c := range Controllers() {
		if c.Name() == name {
			return c, true
		}
	}
	return nil, false
}

// Controllers returns the controllers of this package, ordered by name.
func Controllers() []Controller { return []Controller{ASAP{}, Dual{}, PID{}, PTR{}, Ratio{}} }
