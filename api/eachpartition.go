package api

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// eachPartition calls fn for all partitions concurrently, so that the timeout of a silent process
// is paid once. Partitions that cannot be read do not stop the others; the error at the end has all
// of them.
func eachPartition(ctx context.Context, partitions []int32, fn func(ctx context.Context, p int32) error) error {
	var mu sync.Mutex
	gaps := &PartitionsError{}
	g, ctx := errgroup.WithContext(ctx)
	for _, p := range partitions {
		g.Go(func() error {
			err := fn(ctx, p)
			var some *PartitionsError
			if !errors.As(err, &some) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			gaps.Gaps = append(gaps.Gaps, some.Gaps...)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if len(gaps.Gaps) == 0 {
		return nil
	}
	slices.SortFunc(gaps.Gaps, func(a, b PartitionGap) int { return cmp.Compare(a.Partition, b.Partition) })
	return gaps
}
