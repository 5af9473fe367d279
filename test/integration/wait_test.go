package integration

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// poll calls try every 20 ms until it returns nil, for at most limit. Its error is the last one of
// try.
func poll(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last := try(ctx)
	for last != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", limit, last)
		case <-tick.C:
		}
		if err := try(ctx); err == nil || ctx.Err() == nil { // an error that the deadline caused explains nothing
			last = err
		}
	}
	return nil
}

// within fails the test if try still returns an error after limit. It returns the duration.
func within(t *testing.T, limit time.Duration, what string, try func(context.Context) error) time.Duration {
	t.Helper()
	began := time.Now()
	if err := poll(t.Context(), limit, try); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return time.Since(began)
}

// pass waits for d, so that a fault falls at an arbitrary moment.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
