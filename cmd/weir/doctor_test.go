package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/devbroker"
)

// TestDoctorOfOneRole runs the processes of one role. `weir doctor` has a line for the partitions
// of each application, and warns of each one without a process: of the executors too.
func TestDoctorOfOneRole(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	for role, runs := range map[string][]string{
		"spendcounter": {"spendcounter"},
		"dedup":        {"lease-dedup"},
		"executor":     {"lease-executor.eu", "lease-executor.us"},
	} {
		t.Run(role, func(t *testing.T) {
			env := append(clitest.DynamoDB(t), "WEIR_SPEND_PARTITIONS=2", "WEIR_LEASES_PARTITIONS=2", "WEIR_DATA_DIR="+t.TempDir())
			cfg, err := config.Load(config.Options{Environ: env})
			if err != nil {
				t.Fatal(err)
			}
			broker, err := devbroker.Start(devbroker.Config{Topics: node.Topics(cfg, node.Roles())})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = broker.Close() })
			env = append(env, "WEIR_KAFKA_BROKERS="+strings.Join(broker.Addrs(), ","))
			for _, line := range []string{"table apply", "region create eu", "region create us"} {
				expect(t, env, 0, "", strings.Fields(line)...)
			}
			background(t, env, "ready: ", "run", "--roles", role, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
			for _, app := range runs { // the process is ready when one of its executors is
				rows(t, env, func(l []map[string]any) bool {
					return !slices.ContainsFunc(l, func(r map[string]any) bool { return r["process"] == "" })
				}, "lag", "--app", app)
			}
			for _, group := range []string{"spend", "leases"} {
				checks := partitionChecks(t, env, group)
				for _, app := range apps(t, cfg, group) {
					found, warned := checks[app], strings.HasPrefix(checks[app], "warning not known: no process runs")
					if found == "" || warned == slices.Contains(runs, app) {
						t.Errorf("--for %s: partitions of %s: %q", group, app, found)
					}
				}
			}
		})
	}
}

// apps returns the names of the applications of a group of roles.
func apps(t *testing.T, cfg *config.Config, group string) (names []string) {
	t.Helper()
	list, err := node.Apps(cfg, node.InGroups(group))
	if err != nil {
		t.Fatal(err)
	}
	for _, app := range list {
		names = append(names, app.Name)
	}
	return names
}

// partitionChecks returns what `weir doctor` finds about the partitions of each application.
func partitionChecks(t *testing.T, env []string, group string) map[string]string {
	t.Helper()
	r := weir(t, env, "doctor", "--for", group, "-o", "json")
	var checks []struct {
		Name, Severity, Detail string
		OK                     bool
	}
	if err := json.Unmarshal([]byte(r.Stdout), &checks); err != nil {
		t.Fatalf("%v in %+v", err, r)
	}
	found := map[string]string{}
	for _, c := range checks {
		if app, ok := strings.CutPrefix(c.Name, "partitions of "); ok {
			if found[app] = c.Severity + " " + c.Detail; c.OK {
				found[app] = "ok " + c.Detail
			}
		}
	}
	return found
}
