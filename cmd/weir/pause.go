package main

import (
	"context"
	"time"
)

// pause waits a moment between two looks at something; false if ctx ended.
func pause(ctx context.Context) bool {
	t := time.NewTimer(20 * time.Millisecond)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
