package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhq/weir/processors"
)

// The errors of a node have their exit codes, and say what to do.
func TestNodeFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		code int
		want string
	}{
		"full disk":    {nodeFailure(&RoleError{Role: roleSpend, Err: fmt.Errorf("%w: %w", processors.ErrDiskFull, syscall.ENOSPC)}), 74, "free space there"},
		"lease topics": {nodeFailure(&RoleError{Role: roleBridge, Err: fmt.Errorf("%w: 4 partitions", processors.ErrTopics)}), 69, "--for leases"},
		"bad disk":     {nodeFailure(&RoleError{Role: roleSpend, Err: fmt.Errorf("%w: damaged 3 times", processors.ErrDisk)}), 74, "on a disk that works"},
	} {
		if f := explain(tc.err); f.code != tc.code || !strings.Contains(f.do, tc.want) {
			t.Errorf("%s: code %d, want %d; do: %s", name, f.code, tc.code, f.do)
		}
	}
}
