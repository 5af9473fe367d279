package invariant

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ExactlyOnce is I1.
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
			errs = append(errs, fmt.Errorf("I1: %s %s is no input: invented, or read from an aborted transaction", as, at))
		case n > 0:
			errs = append(errs, fmt.Errorf("I1: %s is there %d times", at, n+1))
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
			errs = append(errs, fmt.Errorf("I1: %s is lost", in.At))
		}
	}
	return firstErrors(errs)
}

// Fold is I2: recount folds the inputs that are no dead letters, the dumb way, into key -> value per partition.
func Fold(h *History, recount func([]Input) map[int32]map[string]string) error {
	letters := make(map[Position]bool, len(h.DeadLetters))
	for _, l := range h.DeadLetters {
		letters[l] = true
	}
	var good []Input
	for _, in := range h.Inputs {
		if !letters[in.At] {
			good = append(good, in)
		}
	}
	want := recount(good)
	var errs []error
	for p, w := range want {
		errs = append(errs, equal(fmt.Sprintf("I2: partition %d", p), w, h.Stores[p].State))
	}
	for p, s := range h.Stores {
		if want[p] == nil && len(s.State) > 0 {
			errs = append(errs, fmt.Errorf("I2: partition %d has state of no input", p))
		}
	}
	return firstErrors(errs)
}

// Sum is I3: total gives the amount that a state value stands for.
func Sum(h *History, total func(value string) (int64, error)) error {
	letters := make(map[Position]bool, len(h.DeadLetters))
	for _, l := range h.DeadLetters {
		letters[l] = true
	}
	var want, got int64
	for _, in := range h.Inputs {
		if !letters[in.At] {
			want += in.Amount
		}
	}
	for p, s := range h.Stores {
		for k, v := range s.State {
			n, err := total(v)
			if err != nil {
				return fmt.Errorf("I3: partition %d, key %q: %w", p, k, err)
			}
			got += n
		}
	}
	if got != want {
		return fmt.Errorf("I3: sum over keys is %d, sum over inputs is %d", got, want)
	}
	return nil
}

// ChangelogState is I4.
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
		errs = append(errs, equal(fmt.Sprintf("I4: partition %d up to offset %d", p, s.ChangelogNext), state, s.State))
	}
	return firstErrors(errs)
}

// StoreNotAhead is I5, for every sample and for the end.
func StoreNotAhead(h *History) error {
	var errs []error
	for _, s := range h.Samples {
		if s.Stored > s.Committed {
			errs = append(errs, fmt.Errorf("I5: store at %d of %s[%d], committed %d", s.Stored, s.Topic, s.Partition, s.Committed))
		}
	}
	for p, s := range h.Stores {
		for topic, next := range s.Next {
			if c := h.Committed[p][topic]; next > c {
				errs = append(errs, fmt.Errorf("I5: at the end the store is at %d of %s[%d], committed %d", next, topic, p, c))
			}
		}
	}
	return firstErrors(errs)
}

// OutputCause is I6.
func OutputCause(h *History) error {
	inputs := make(map[Position]bool, len(h.Inputs))
	for _, in := range h.Inputs {
		inputs[in.At] = true
	}
	var errs []error
	for _, o := range h.Outputs {
		if !inputs[o.Cause] {
			errs = append(errs, fmt.Errorf("I6: output %s has no cause: %s is no input", o.At, o.Cause))
		}
	}
	last := map[int32]*Marker{}
	loose := map[int32]Position{}
	for _, c := range h.Changelog {
		p := c.At.Partition
		if c.Marker == nil {
			loose[p] = c.At
			continue
		}
		delete(loose, p)
		if prev := last[p]; prev != nil {
			errs = append(errs, follows(prev, c))
		} else if c.Marker.Sequence != 1 {
			errs = append(errs, fmt.Errorf("I6: first marker %s has sequence %d", c.At, c.Marker.Sequence))
		}
		last[p] = c.Marker
	}
	for _, at := range loose {
		errs = append(errs, fmt.Errorf("I6: change %s belongs to no transaction: no marker follows it", at))
	}
	return firstErrors(errs)
}

func follows(prev *Marker, c Change) error {
	m := c.Marker
	switch {
	case m.Sequence != prev.Sequence+1:
		return fmt.Errorf("I6: marker %s has sequence %d after %d", c.At, m.Sequence, prev.Sequence)
	case m.Epoch < prev.Epoch:
		return fmt.Errorf("I6: marker %s is of epoch %d after %d: a former owner wrote", c.At, m.Epoch, prev.Epoch)
	}
	for topic, next := range prev.Next {
		if m.Next[topic] < next {
			return fmt.Errorf("I6: marker %s reads %s backwards, from %d to %d", c.At, topic, next, m.Next[topic])
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

// firstErrors keeps the first few: a broken run breaks in thousands of places.
func firstErrors(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) > 8 {
		errs = append(errs[:8], fmt.Errorf("and %d more", len(errs)-8))
	}
	return errors.Join(errs...)
}
