package executor

import (
	"context"
	"errors"
	"sync"
)

// RunAll runs the executors of several regions in one process until ctx ends. If one fails, all
// end. It returns the joined errors.
func RunAll(ctx context.Context, list []*Executor) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	for i, e := range list {
		wg.Go(func() {
			if errs[i] = e.Run(ctx); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
