package main

import (
	"context"
	"time"
)

// pause waits a moment between two looks at something; false if ctx ended.
func pause(ctx context.Context) bool { return waitFor(ctx, 20*time.Millisecond) }

// waitFor waits; false if ctx ended before.
func waitFor(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
