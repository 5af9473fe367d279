package sim

import (
	"cmp"
	"slices"
)

// oneKey is LEASE-1: no two keys use one resource at one time.
func oneKey(h *History) (Violation, bool) {
	return overlap(h, "LEASE-1", func(a, b *Use) bool { return a.Resource == b.Resource && a.Key != b.Key })
}

// oneResource is LEASE-2: of the leases that a region granted, no two users of a key use different
// resources at one time.
func oneResource(h *History) (Violation, bool) {
	return overlap(h, "LEASE-2", func(a, b *Use) bool { return a.Key == b.Key && a.Region == b.Region && a.Resource != b.Resource })
}

// overlap finds the first two uses that overlap in time and satisfy both.
func overlap(h *History, invariant string, both func(a, b *Use) bool) (Violation, bool) {
	uses := slices.Clone(h.Uses)
	slices.SortStableFunc(uses, func(a, b Use) int { return cmp.Compare(a.From, b.From) })
	var now []*Use
	for i := range uses {
		u := &uses[i]
		now = slices.DeleteFunc(now, func(o *Use) bool { return o.Until <= u.From })
		for _, o := range now {
			if both(o, u) && u.Until > u.From {
				return violated(invariant, u.From, []string{o.Resource, u.Resource, keyName(o.Key), keyName(u.Key)},
					"%s uses %s for %s until %s, and %s begins to use %s for %s", o.Agent, o.Resource, keyName(o.Key), clock(o.Until-epoch),
					u.Agent, u.Resource, keyName(u.Key))
			}
		}
		now = append(now, u)
	}
	return holds()
}

// neverEarly is LEASE-5: a lease that was not released does not end before its deadline.
func neverEarly(h *History) (Violation, bool) {
	for i := range h.Writes {
		w := &h.Writes[i]
		if w.Rule != "liberate" {
			continue
		}
		for j := range h.Uses {
			if u := &h.Uses[j]; u.Resource == w.Name && u.From < w.At && w.At < u.Until {
				return violated("LEASE-5", w.At, []string{w.Name}, "%s is liberated while %s uses it until %s", w.Name, u.Agent,
					clock(u.Until-epoch))
			}
		}
	}
	return holds()
}
