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

// Filter chooses letters. Its zero value chooses all.
type Filter struct {
	// Reason, if not empty, is the reason to look for.
	Reason string
	// Partitions, if not nil, are those to read.
	Partitions []int32
	// Limit, if greater than 0, is how many letters to return at most: those of the lowest partitions first.
	Limit int
}

// List returns the letters of a queue that are not resolved, by partition and offset. It reads what is committed when it
// is called, which is nothing behind a transaction that is open then. It holds one partition's letters in memory, and
// those it returns.
func List(ctx context.Context, k kafka.Cluster, topic string, f Filter) ([]DeadLetter, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	s, err := newScanner(ctx, cl, topic)
	if err != nil {
		return nil, err
	}
	ends, err := kadm.NewClient(cl).ListCommittedOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the ends of %s: %w", topic, err)
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

// Show returns the unresolved letter of an origin, or an error that wraps ErrNoLetter.
func Show(ctx context.Context, k kafka.Cluster, topic string, origin Origin) (DeadLetter, error) {
	// A letter is in the partition of its origin: both belong to one task.
	letters, err := List(ctx, k, topic, Filter{Partitions: []int32{origin.Partition}})
	if err != nil {
		return DeadLetter{}, err
	}
	for _, l := range letters {
		if l.Malformed == nil && l.Origin == origin {
			return l, nil
		}
	}
	return DeadLetter{}, fmt.Errorf("%w: %s has no unresolved letter of %s: it was never refused, or it was replayed or dropped", ErrNoDeadLetter, topic, origin)
}

// letters folds a partition of the queue up to an offset: by key, the last record counts, and a tombstone resolves.
func (s *scanner) letters(ctx context.Context, p int32, upto int64) (map[string]DeadLetter, error) {
	open := map[string]DeadLetter{}
	err := s.read(ctx, p, 0, upto, func(r *kgo.Record) {
		if r.Value == nil {
			delete(open, string(r.Key))
			return
		}
		open[string(r.Key)] = parseDeadLetter(r)
	})
	return open, err
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
