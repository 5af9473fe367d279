package sim

import (
	"cmp"
	"fmt"
	"slices"
)

// Violation is a violated invariant.
type Violation struct {
	Invariant string
	At        int64 // time of the violation in the scenario
	Names     []string
	Text      string
}

// String returns the violation as text.
func (v Violation) String() string {
	return fmt.Sprintf("%s at %s: %s", v.Invariant, clock(v.At), v.Text)
}

// Check returns the violations in a history, the first one of each invariant.
func Check(h *History) (list []Violation) {
	if h.Broken != nil {
		return []Violation{{Invariant: "broken", Text: h.Broken.Error()}}
	}
	for _, check := range []func(*History) (Violation, bool){
		oneKey, oneResource, neverEarly, rowConsistent, noLostWrite, notOffered, oneWinner, conserved, counted, onceInFlight, commandOnce,
		trueResults, nothingRefused, liveness, emptied, oneHome,
	} {
		if v, bad := check(h); bad {
			list = append(list, v)
		}
	}
	slices.SortStableFunc(list, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return list
}

func violated(invariant string, at int64, names []string, format string, args ...any) (Violation, bool) {
	return Violation{Invariant: invariant, At: at - epoch, Names: names, Text: fmt.Sprintf(format, args...)}, true
}

func holds() (Violation, bool) { return Violation{}, false }

// needed returns the marks that a run must reach to count.
func needed() []string {
	return []string{"liberate", "transfer", "duplicate", "unknown outcome", "stale command"}
}

// Missing returns the needed marks that a run did not reach. A run with missing marks counts as
// empty.
func Missing(h *History) (list []string) {
	for _, m := range needed() {
		if h.Marks[m] == 0 {
			list = append(list, m)
		}
	}
	return list
}
