package api

import (
	"fmt"
	"regexp"
	"strings"
)

// PartitionsError lists the partitions that a source cannot read now. The API answers with
// Unavailable.
type PartitionsError struct {
	Gaps []PartitionGap // at least one
}

// Bounds of the text of an error.
const (
	maxListed = 12 // names, partitions
	maxKinds  = 4  // groups of unreadable partitions, each with its state and reason
)

// Error lists the partitions, grouped by state and reason.
func (e *PartitionsError) Error() string {
	kinds := DescribeGaps(e.Gaps)
	text := strings.Join(kinds[:min(len(kinds), maxKinds)], ", ")
	if n := len(kinds) - maxKinds; n > 0 {
		text += fmt.Sprintf(", and partitions with %d more reasons", n)
	}
	return text
}

// stopped reports whether a partition waits for an operator.
func (e *PartitionsError) stopped() bool {
	for _, g := range e.Gaps {
		if g.State == stateStopped {
			return true
		}
	}
	return false
}

// stateStopped is the state of a partition that is stopped until an operator acts.
const stateStopped = "stopped"

// DescribeGaps returns one text for each state and reason, with the partitions to which both apply:
// "partitions 1, 2 are stopped (why)". Reasons that differ only in numbers, such as the partition
// and its offset, are one reason: the text has the first.
func DescribeGaps(gaps []PartitionGap) []string {
	var order []PartitionGap // one gap of each kind
	at := map[PartitionGap]int{}
	var members [][]PartitionGap
	for _, g := range gaps {
		kind := PartitionGap{State: g.State, Reason: reasonKind(g)}
		i, known := at[kind]
		if !known {
			i = len(order)
			at[kind], order, members = i, append(order, kind), append(members, nil)
		}
		members[i] = append(members[i], g)
	}
	out := make([]string, 0, len(order))
	for _, list := range members {
		out = append(out, describeKind(list))
	}
	return out
}

// describeKind describes gaps of one state and one kind of reason.
func describeKind(list []PartitionGap) string {
	first, same := list[0], true
	for _, g := range list {
		same = same && g.Reason == first.Reason
	}
	what, verb := fmt.Sprintf("partition %d", first.Partition), "is"
	if len(list) > 1 {
		what, verb = "partitions "+numbers(list), "are"
	}
	var b strings.Builder
	if first.State == StateRemote {
		fmt.Fprintf(&b, "the process that answered does not own %s", what)
	} else {
		fmt.Fprintf(&b, "%s %s %s", what, verb, first.State)
	}
	switch {
	case first.Reason == "":
	case same:
		fmt.Fprintf(&b, " (%s)", first.Reason)
	default:
		fmt.Fprintf(&b, " (partition %d: %s)", first.Partition, first.Reason)
	}
	return b.String()
}

// numbers lists partitions, as ranges where they are consecutive: "0-11, 13".
func numbers(list []PartitionGap) string {
	var ranges []string
	for i := 0; i < len(list); {
		if len(ranges) == maxListed {
			return fmt.Sprintf("%s and %d more", strings.Join(ranges, ", "), len(list)-i)
		}
		last := i
		for last+1 < len(list) && list[last+1].Partition == list[last].Partition+1 {
			last++
		}
		if last == i+1 { // two partitions are listed, not written as a range
			last = i
		}
		text := fmt.Sprint(list[i].Partition)
		if last > i {
			text += fmt.Sprintf("-%d", list[last].Partition)
		}
		ranges, i = append(ranges, text), last+1
	}
	return strings.Join(ranges, ", ")
}

// digits are the numbers in a reason.
var digits = regexp.MustCompile(`[0-9]+`)

// reasonKind returns the reason without what differs between partitions. Of a stopped partition
// these are all numbers. In other states a number can be a part of the name of another process, so
// that only the partition's own number is removed.
func reasonKind(g PartitionGap) string {
	if g.State == stateStopped {
		return digits.ReplaceAllString(g.Reason, "#")
	}
	n := fmt.Sprint(g.Partition)
	return strings.NewReplacer("["+n+"]", "[#]", "partition "+n+" ", "partition # ").Replace(g.Reason)
}
