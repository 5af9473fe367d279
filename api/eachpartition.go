package api

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
)

// partitionErrors are the errors of partitions.
type partitionErrors map[int32]error

// eachPartition calls fn for all partitions concurrently, so that the timeout of a silent process
// is paid once. Partitions do not depend on the errors of others.
func eachPartition(ctx context.Context, partitions []int32, fn func(ctx context.Context, p int32) error) partitionErrors {
	_, failed := collect(ctx, partitions, func(ctx context.Context, p int32) (struct{}, error) { return struct{}{}, fn(ctx, p) })
	return failed
}

// collect calls fn for all partitions as eachPartition does, and returns the results of those that
// did not fail, in the order of partitions.
func collect[T any](ctx context.Context, partitions []int32, fn func(ctx context.Context, p int32) (T, error)) ([]T, partitionErrors) {
	all, errs := make([]T, len(partitions)), make([]error, len(partitions))
	var running sync.WaitGroup
	for i, p := range partitions {
		running.Go(func() { all[i], errs[i] = fn(ctx, p) })
	}
	running.Wait()
	list, failed := make([]T, 0, len(all)), partitionErrors{}
	for i, err := range errs {
		if err != nil {
			failed[partitions[i]] = err
		} else {
			list = append(list, all[i])
		}
	}
	return list, failed
}

// sorted returns the partitions, ascending.
func (e partitionErrors) sorted() []int32 { return slices.Sorted(maps.Keys(e)) }

// join returns all errors, ascending by partition; nil without one.
func (e partitionErrors) join() (err error) {
	for _, p := range e.sorted() {
		err = errors.Join(err, e[p])
	}
	return err
}

// first returns the error of the lowest partition, nil without one.
func (e partitionErrors) first() error {
	for _, p := range e.sorted() {
		return e[p]
	}
	return nil
}

// gaps returns one *PartitionsError with all partitions that cannot be read; or an error of another
// kind, if there is one; nil without any.
func (e partitionErrors) gaps() error {
	all := &PartitionsError{}
	for _, p := range e.sorted() {
		var some *PartitionsError
		if !errors.As(e[p], &some) {
			return e[p]
		}
		all.Gaps = append(all.Gaps, some.Gaps...)
	}
	if len(all.Gaps) == 0 {
		return nil
	}
	slices.SortFunc(all.Gaps, func(a, b PartitionGap) int { return cmp.Compare(a.Partition, b.Partition) })
	return all
}
