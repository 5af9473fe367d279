package poll

import (
	"context"
	"time"
)

// Next waits a moment between two looks at something; false if ctx ended.
func Next(ctx context.Context) bool { return Sleep(ctx, 20*time.Millisecond) }

// Sleep waits; false if ctx ended before.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
