package ops

import (
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/node"
)

// The help of weir run has a line for each role, and the name of each group with several roles.
func TestRunHelpListsTheRoles(t *testing.T) {
	help := clitest.Run(t, Commands, nil, "run", "--help")
	if help.Code != cli.ExitOK {
		t.Fatalf("%+v", help)
	}
	for _, r := range node.Roles() {
		if !regexp.MustCompile(`(?m)^ +` + r.Name + ` +` + regexp.QuoteMeta(r.Summary) + `$`).MatchString(help.Stdout) {
			t.Errorf("no line for %s in\n%s", r.Name, help.Stdout)
		}
	}
	flag := "roles of the process: " + strings.Join(node.RoleNames(), ", ")
	if !strings.Contains(help.Stdout, flag) {
		t.Errorf("no %q in\n%s", flag, help.Stdout)
	}
}

// Roles that do not exist are usage errors of every command with --roles.
func TestUnknownRoles(t *testing.T) {
	for _, tc := range []struct{ roles, want string }{
		{"", "the roles are: spend, spendcounter, mirror, push, spendcache, pacing, leases, bridge"},
		{"nonsense", "the roles are: spend, spendcounter, mirror, push, spendcache, pacing, leases, bridge"},
		{"leases,balncer", "did you mean balancer?"},
	} {
		for _, command := range []string{"run", "config memory"} {
			got := clitest.Run(t, Commands, nil, append(strings.Fields(command), "--roles", tc.roles)...)
			if got.Code != cli.ExitUsage || !strings.Contains(got.Stderr, tc.want) {
				t.Errorf("%s --roles %q: %+v", command, tc.roles, got)
			}
		}
	}
}
