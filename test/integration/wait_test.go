package integration

import (
	"testing"
	"time"

	"github.com/weirhq/weir/internal/pause"
)

// pass waits for d, so that a fault falls at an arbitrary moment.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	pause.For(t.Context(), d)
}
