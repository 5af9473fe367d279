package ops

import (
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// The ACLs of every role are listed: its topics, and the name of its group. The spend cache has no
// group: it follows all partitions.
func TestACLsOfEveryRole(t *testing.T) {
	cfg, err := config.Load(config.Options{Environ: []string{"WEIR_LEASES_REGIONS=eu,us", "WEIR_DC=eu", "WEIR_DCS=eu,us=h:1"}})
	if err != nil {
		t.Fatal(err)
	}
	checks, err := aclChecks(cfg, node.Roles())
	if err != nil || len(checks) != len(node.Roles()) {
		t.Fatalf("%d checks, %v", len(checks), err)
	}
	for _, c := range checks {
		role := strings.TrimPrefix(c.Name, "acls of ")
		if !c.OK || !strings.Contains(c.Detail, "--topic ") ||
			role != "spendcache" && (!strings.Contains(c.Detail, role) || !strings.Contains(c.Detail, "--group ")) {
			t.Errorf("%+v", c)
		}
	}
	for _, want := range []string{"--topic lease.commands.eu --operation Read", "--topic lease.commands.us --operation Read", "--topic lease.results --operation Write"} {
		if at := slices.IndexFunc(checks, func(c kafkaadmin.Check) bool { return c.Name == "acls of executor" }); !strings.Contains(checks[at].Detail, want) {
			t.Errorf("the executor lacks %q:\n%s", want, checks[at].Detail)
		}
	}
}
