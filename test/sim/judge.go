package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// Violation is that an invariant does not hold.
type Violation struct {
	Invariant string
	At        int64 // when it showed, in the scenario's time
	Names     []string
	Text      string
}

// String is the violation for people.
func (v Violation) String() string {
	return fmt.Sprintf("%s at %s: %s", v.Invariant, clock(v.At), v.Text)
}

// Judge gives what is wrong in a history, the first of each invariant.
func Judge(h *History) (list []Violation) {
	if h.Broken != nil {
		return []Violation{{Invariant: "broken", Text: h.Broken.Error()}}
	}
	for _, check := range []func(*History) (Violation, bool){
		oneKey, oneResource, neverEarly, rowConsistent, noLostWrite, notOffered, oneWinner, conserved, counted, onceInFlight, commandOnce, trueResults, nothingRefused, liveness, emptied, oneHome,
	} {
		if v, bad := check(h); bad {
			list = append(list, v)
		}
	}
	slices.SortStableFunc(list, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return list
}

func broken(invariant string, at int64, names []string, format string, args ...any) (Violation, bool) {
	return Violation{Invariant: invariant, At: at - epoch, Names: names, Text: fmt.Sprintf(format, args...)}, true
}

func fine() (Violation, bool) { return Violation{}, false }

// Marks that a run must reach to count.
func needed() []string {
	return []string{"liberate", "transfer", "duplicate", "unknown outcome", "stale command"}
}

// Missing are the marks that a run did not reach: it counts as empty if there are any.
func Missing(h *History) (list []string) {
	for _, m := range needed() {
		if h.Marks[m] == 0 {
			list = append(list, m)
		}
	}
	return list
}
