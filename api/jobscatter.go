package api

import (
	"context"

	"connectrpc.com/connect"
)

// byPartition has the positions of ids in a request, by partition, in the order of the first of
// each.
type byPartition struct {
	partitions []int32
	positions  map[int32][]int
	ids        []JobID
}

// split parses the ids of a request of at most MaxJobs.
func (s *jobService) split(n int, id func(i int) string) (byPartition, error) {
	return s.splitMost(MaxJobs, n, id)
}

// splitMost parses the ids of a request.
func (s *jobService) splitMost(most, n int, id func(i int) string) (b byPartition, err error) {
	if n < 1 || n > most {
		return b, invalid("the request has %d jobs: send 1 to %d", n, most)
	}
	b.ids = make([]JobID, 0, n)
	b.positions = map[int32][]int{}
	for i := range n {
		x, err := ParseJobID(id(i))
		if err != nil {
			return b, invalid("%v", err)
		}
		if x.Partition >= s.partitions() {
			return b, errorf(connect.CodeNotFound, "job %s: the job queues have %d partitions: correct the id", x, s.partitions())
		}
		if b.positions[x.Partition] == nil {
			b.partitions = append(b.partitions, x.Partition)
		}
		b.positions[x.Partition] = append(b.positions[x.Partition], i)
		b.ids = append(b.ids, x)
	}
	return b, nil
}

// oneOf returns the positions of one id.
func oneOf(id JobID) byPartition {
	return byPartition{[]int32{id.Partition}, map[int32][]int{id.Partition: {0}}, []JobID{id}}
}

// gather calls fn for the positions of each partition, and returns the results in the order of the
// request. Those of partitions that failed are missing.
func gather[T any](ctx context.Context, parts byPartition,
	fn func(ctx context.Context, p int32, at []int) ([]T, error),
) (list []T, failed partitionErrors) {
	list = make([]T, len(parts.ids))
	failed = eachPartition(ctx, parts.partitions, func(ctx context.Context, p int32) error {
		at := parts.positions[p]
		got, err := fn(ctx, p, at)
		switch {
		case err != nil:
			return err
		case len(got) != len(at):
			return sourceBug("%d answers about %d jobs of partition %d", len(got), len(at), p)
		}
		for k, i := range at {
			list[i] = got[k]
		}
		return nil
	})
	return list, failed
}

// chosen returns the items at some positions.
func chosen[T any](list []T, at []int) []T {
	some := make([]T, len(at))
	for k, i := range at {
		some[k] = list[i]
	}
	return some
}
