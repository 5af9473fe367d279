package pause

import (
	"context"
	"time"
)

// For waits for d. It returns false, at once, when ctx ends before.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Poll waits for the 20 ms between two looks at a condition. It returns false when ctx ends before.
func Poll(ctx context.Context) bool { return For(ctx, 20*time.Millisecond) }
