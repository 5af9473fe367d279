package invariant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ExactlyOnce checks RUN-1.
func ExactlyOnce(h *History) error {
	seen := make(map[Position]int, len(h.Inputs))
	for _, in := range h.Inputs {
		seen[in.At] = 0
	}
	var errs []error
	count := func(at Position, as string) {
		n, known := seen[at]
		switch {
		case !known:
			errs = append(errs,
				fmt.Errorf("RUN-1: %s %s is not a committed input: it does not exist, or its transaction was aborted", as, at))
		case n > 0:
			errs = append(errs, fmt.Errorf("RUN-1: %s was processed %d times", at, n+1))
		}
		seen[at] = n + 1
	}
	for _, o := range h.Outputs {
		count(o.Cause, "cause")
	}
	for _, l := range h.DeadLetters {
		count(l, "dead letter")
	}
	for _, in := range h.Inputs {
		if seen[in.At] == 0 {
			errs = append(errs, fmt.Errorf("RUN-1: %s was lost: it has no output and is not a dead letter", in.At))
		}
	}
	return firstErrors(errs)
}

// Fold checks RUN-2. recount folds inputs in a simple way and returns the value of each key, by
// partition.
func Fold(h *History, recount func([]Input) map[int32]map[string]string) error {
	rejected := make(map[Position]bool, len(h.DeadLetters))
	for _, l := range h.DeadLetters {
		rejected[l] = true
	}
	var good []Input
	for _, in := range h.Inputs {
		if !rejected[in.At] {
			good = append(good, in)
		}
	}
	want := recount(good)
	var errs []error
	for p, w := range want {
		errs = append(errs, equal(fmt.Sprintf("RUN-2: partition %d", p), w, h.Stores[p].State))
	}
	for p, s := range h.Stores {
		if want[p] == nil && len(s.State) > 0 {
			errs = append(errs, fmt.Errorf("RUN-2: partition %d has state, but no input", p))
		}
	}
	return firstErrors(errs)
}

// Sum checks RUN-3. total returns the amount in a state value.
func Sum(h *History, total func(value string) (int64, error)) error {
	rejected := make(map[Position]bool, len(h.DeadLetters))
	for _, l := range h.DeadLetters {
		rejected[l] = true
	}
	var want, got int64
	for _, in := range h.Inputs {
		if !rejected[in.At] {
			want += in.Amount
		}
	}
	for p, s := range h.Stores {
		for k, v := range s.State {
			n, err := total(v)
			if err != nil {
				return fmt.Errorf("RUN-3: partition %d, key %q: %w", p, k, err)
			}
			got += n
		}
	}
	if got != want {
		return fmt.Errorf("RUN-3: sum over keys is %d, sum over inputs is %d", got, want)
	}
	return nil
}

// ChangelogState checks RUN-4.
func ChangelogState(h *History) error {
	var errs []error
	for p, s := range h.Stores {
		state := map[string]string{}
		for _, c := range h.Changelog {
			switch {
			case c.At.Partition != p || c.At.Offset >= s.ChangelogNext || c.Marker != nil:
			case c.Delete:
				delete(state, c.Key)
			default:
				state[c.Key] = c.Value
			}
		}
		errs = append(errs, equal(fmt.Sprintf("RUN-4: partition %d up to offset %d", p, s.ChangelogNext), state, s.State))
	}
	return firstErrors(errs)
}

// StoreNotAhead checks RUN-5 for every sample and for the end of the run.
func StoreNotAhead(h *History) error {
	var errs []error
	for _, s := range h.Samples {
		if s.Stored > s.Committed {
			errs = append(errs,
				fmt.Errorf("RUN-5: the store is at offset %d of %s[%d], the group has committed %d", s.Stored, s.Topic, s.Partition,
					s.Committed))
		}
	}
	for p, s := range h.Stores {
		for topic, next := range s.Next {
			if c := h.Committed[p][topic]; next > c {
				errs = append(errs,
					fmt.Errorf("RUN-5: at the end the store is at offset %d of %s[%d], the group has committed %d", next, topic, p, c))
			}
		}
	}
	return firstErrors(errs)
}

// OutputCause checks RUN-6.
func OutputCause(h *History) error {
	inputs := make(map[Position]bool, len(h.Inputs))
	for _, in := range h.Inputs {
		inputs[in.At] = true
	}
	var errs []error
	for _, o := range h.Outputs {
		if !inputs[o.Cause] {
			errs = append(errs, fmt.Errorf("RUN-6: output %s has no cause: %s is not a committed input", o.At, o.Cause))
		}
	}
	return firstErrors(errs)
}

// Transactions checks RUN-7.
func Transactions(h *History) error {
	var errs []error
	last := map[int32]*Marker{}
	unmarked := map[int32]Position{}
	for _, c := range h.Changelog {
		p := c.At.Partition
		if c.Marker == nil {
			unmarked[p] = c.At
			continue
		}
		delete(unmarked, p)
		if prev := last[p]; prev != nil {
			errs = append(errs, follows(prev, c))
		} else if c.Marker.Sequence != 1 {
			errs = append(errs, fmt.Errorf("RUN-7: first marker %s has sequence %d", c.At, c.Marker.Sequence))
		}
		last[p] = c.Marker
	}
	for _, at := range unmarked {
		errs = append(errs, fmt.Errorf("RUN-7: change %s belongs to no transaction: no marker follows it", at))
	}
	return firstErrors(errs)
}

func follows(prev *Marker, c Change) error {
	m := c.Marker
	switch {
	case m.Sequence != prev.Sequence+1:
		return fmt.Errorf("RUN-7: marker %s has sequence %d after %d", c.At, m.Sequence, prev.Sequence)
	case m.Epoch < prev.Epoch:
		return fmt.Errorf("RUN-7: marker %s has the epoch %d after %d: an earlier owner wrote it", c.At, m.Epoch, prev.Epoch)
	}
	for topic, next := range prev.Next {
		if m.Next[topic] < next {
			return fmt.Errorf("RUN-7: in marker %s the position of %s goes back from %d to %d", c.At, topic, next, m.Next[topic])
		}
	}
	return nil
}

func equal(what string, want, got map[string]string) error {
	var errs []error
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if g, ok := got[k]; !ok || g != want[k] {
			errs = append(errs, fmt.Errorf("%s: key %q is %q, want %q", what, k, g, want[k]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[k]; !ok {
			errs = append(errs, fmt.Errorf("%s: key %q is %q, want none", what, k, got[k]))
		}
	}
	return firstErrors(errs)
}

// firstErrors joins the first eight errors: one bug violates an invariant in thousands of records.
func firstErrors(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 8 {
		errs = append(errs[:8], fmt.Errorf("and %d more", len(errs)-8))
	}
	return errors.Join(errs...)
}
