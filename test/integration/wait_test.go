package integration

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// poll asks try every 20 ms until it has no complaint, at most for limit. Its error is the last complaint.
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
		if err := try(ctx); err == nil || ctx.Err() == nil { // what the deadline itself caused explains nothing
			last = err
		}
	}
	return nil
}

// within ends the test if try still complains after limit. It returns how long it took.
func within(t *testing.T, limit time.Duration, what string, try func(context.Context) error) time.Duration {
	t.Helper()
	began := time.Now()
	if err := poll(t.Context(), limit, try); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return time.Since(began)
}

// pass lets d go by: not to wait for anything, but for a fault to fall at a moment that nobody chose.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
