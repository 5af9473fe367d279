package connect

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
)

// The errors of a node have their exit codes, and say what to do.
func TestNodeFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		code int
		want string
	}{
		"full disk":    {NodeFailure(&node.RoleError{Role: node.RoleSpend, Err: fmt.Errorf("%w: %w", processors.ErrDiskFull, syscall.ENOSPC)}), 74, "free space there"},
		"lease topics": {NodeFailure(&node.RoleError{Role: node.RoleBridge, Err: fmt.Errorf("%w: 4 partitions", processors.ErrTopics)}), 69, "--for leases"},
		"bad disk":     {NodeFailure(&node.RoleError{Role: node.RoleSpend, Err: fmt.Errorf("%w: damaged 3 times", processors.ErrDisk)}), 74, "on a disk that works"},
	} {
		if f := cli.Explain(tc.err); f.Code != tc.code || !strings.Contains(f.Do, tc.want) {
			t.Errorf("%s: code %d, want %d; do: %s", name, f.Code, tc.code, f.Do)
		}
	}
}
