package kafkaadmin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/kafka"
)

// DeadLetterFilter selects dead letters. The zero value selects all.
type DeadLetterFilter struct {
	// Reason, if not empty, selects the dead letters with this reason.
	Reason string
	// Partitions, if not nil, selects the partitions to read.
	Partitions []int32
	// Limit, if greater than 0, is the greatest number of dead letters to return: those of the
	// lowest partitions come first.
	Limit int
}

// ListDeadLetters returns the unresolved dead letters of a topic, by partition and offset. It reads
// up to the last stable offset at the time of the call, so nothing behind an open transaction. It
// holds one partition's dead letters in memory, and the result.
func ListDeadLetters(ctx context.Context, k kafka.Cluster, topic string, f DeadLetterFilter) ([]DeadLetter, error) {
	s, err := openScanner(ctx, k, topic)
	if err != nil {
		return nil, err
	}
	defer s.cl.Close()
	ends, err := committedEnds(ctx, s.cl, topic)
	if err != nil {
		return nil, err
	}
	var out []DeadLetter
	for _, p := range s.partitions() {
		if f.Partitions != nil && !slices.Contains(f.Partitions, p) {
			continue
		}
		end, _ := ends.Lookup(topic, p)
		letters, err := s.letters(ctx, p, end.Offset)
		if err != nil {
			return nil, err
		}
		for _, l := range inOrder(letters) {
			if f.Reason != "" && l.Reason != f.Reason {
				continue
			}
			if out = append(out, l); len(out) == f.Limit {
				return out, nil
			}
		}
	}
	return out, nil
}

// ReadDeadLetter returns the unresolved dead letter of an origin, or an error that wraps
// ErrNoDeadLetter.
func ReadDeadLetter(ctx context.Context, k kafka.Cluster, topic string, origin Origin) (DeadLetter, error) {
	// A dead letter is in the partition of its origin, because both belong to one task.
	letters, err := ListDeadLetters(ctx, k, topic, DeadLetterFilter{Partitions: []int32{origin.Partition}})
	if err != nil {
		return DeadLetter{}, err
	}
	for _, l := range letters {
		if l.Malformed == nil && l.Origin == origin {
			return l, nil
		}
	}
	return DeadLetter{}, fmt.Errorf(
		"%w: %s has no unresolved dead letter of %s: the record was never rejected, or its dead letter was replayed or dropped",
		ErrNoDeadLetter, topic, origin)
}

// committedEnds returns the offsets behind the committed records of a topic.
func committedEnds(ctx context.Context, cl *kgo.Client, topic string) (kadm.ListedOffsets, error) {
	ends, err := kadm.NewClient(cl).ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the end offsets of %s: %w", topic, err)
	}
	return ends, nil
}

// openLetters returns an empty map and a function that adds records of a partition to it, in order:
// what keep makes of the unresolved dead letters, by key. The last record of each key counts, and a
// tombstone resolves it.
func openLetters[T any](keep func(*kgo.Record) T) (open map[string]T, add func(*kgo.Record)) {
	open = map[string]T{}
	return open, func(r *kgo.Record) {
		if r.Value == nil {
			delete(open, string(r.Key))
			return
		}
		open[string(r.Key)] = keep(r)
	}
}

// letters returns the unresolved dead letters of a partition up to an offset.
func (s *scanner) letters(ctx context.Context, p int32, upto int64) (map[string]DeadLetter, error) {
	open, add := openLetters(parseDeadLetter)
	return open, s.read(ctx, p, 0, upto, add)
}

func inOrder(letters map[string]DeadLetter) []DeadLetter {
	var out []DeadLetter
	for _, l := range letters {
		out = append(out, l)
	}
	slices.SortFunc(out, byPosition)
	return out
}

func byPosition(a, b DeadLetter) int {
	return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
}
