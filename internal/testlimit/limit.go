package testlimit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/pause"
)

// Limit ends a step of a test that hangs.
const Limit = 3 * time.Minute

// Context returns a context that ends after Limit, or with the test.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	t.Cleanup(cancel)
	return ctx
}

// Poll calls try until it returns nil, for at most Limit. Its error is the last one of try. It
// waits 20 ms between two calls, and up to half a second after slow calls.
func Poll(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	began := time.Now()
	last := try(ctx)
	for last != nil {
		pause.For(ctx, min(max(20*time.Millisecond, 2*time.Since(began)), 500*time.Millisecond))
		if ctx.Err() != nil {
			return fmt.Errorf("not within %s: %w", Limit, last)
		}
		began = time.Now()
		if err := try(ctx); err == nil || ctx.Err() == nil { // an error that the end caused explains nothing
			last = err
		}
	}
	return nil
}

// Within fails the test unless try returns nil within Limit. It returns how long that took.
func Within(t testing.TB, what string, try func(context.Context) error) time.Duration {
	t.Helper()
	began := time.Now()
	if err := Poll(t.Context(), try); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return time.Since(began)
}

// Receive returns the next value of c. It fails the test if none comes within Limit.
func Receive[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(Limit)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		t.Fatalf("%s: nothing within %s", what, Limit)
	}
	return v
}
