//go:build !linux

package spendcounter

import (
	"testing"
	"time"
)

// threadTime is wall time where the system does not tell what a thread used.
func threadTime(testing.TB) time.Duration { return time.Duration(time.Now().UnixNano()) }
