//go:build !linux

package spendcounter

import (
	"testing"
	"time"
)

// threadTime returns wall time on systems without the processor time of a thread.
func threadTime(testing.TB) time.Duration { return time.Duration(time.Now().UnixNano()) }
