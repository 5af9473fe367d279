package ops

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/lease"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/testlimit"
	leaseadmin "github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// findings returns a line for each check that failed.
func findings(checks []kafkaadmin.Check) (list []string) {
	for _, c := range checks {
		if !c.OK {
			list = append(list, fmt.Sprintf("%s %s: %s (%s)", c.Severity, c.Name, c.Detail, c.Remedy))
		}
	}
	return list
}

// Each problem of the table and of a region is found, with a remedy.
func TestLeaseChecks(t *testing.T) {
	env := clitest.DynamoDB(t)
	look := func(env []string) []string {
		t.Helper()
		cfg, err := config.Load(config.Options{Environ: env})
		if err != nil {
			t.Fatal(err)
		}
		return findings(leaseChecks(t.Context(), cfg))
	}
	has := func(list []string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, w) }) {
				t.Errorf("no finding has %q:\n%s", w, strings.Join(list, "\n"))
			}
		}
		if len(list) != len(want) {
			t.Errorf("%d findings, want %d:\n%s", len(list), len(want), strings.Join(list, "\n"))
		}
	}
	do := func(line string) {
		t.Helper()
		if got := clitest.Run(t, lease.Commands, env, strings.Fields(line)...); got.Code != cli.ExitOK {
			t.Fatalf("weir %s: %+v", line, got)
		}
	}
	has(look(env), "missing: eu: create table", "missing: eu: add a replica in us", "region eu: the region has no replica", "region us: the region has no replica")
	do("table apply")
	has(look(env), "region eu: the table has no row of the region: nothing can be leased there (run `weir region create eu`",
		"region us: the table has no row of the region")
	do("region create eu")
	do("region create us")
	testlimit.Within(t, "replication", func(context.Context) error {
		if lines := look(env); len(lines) != 2 {
			return fmt.Errorf("doctor prints %d lines", len(lines))
		}
		return nil
	})
	has(look(env), "warning region eu: no bridge has run", "warning region us: no bridge has run")

	var turned []string
	for _, kv := range env {
		if list, ok := strings.CutPrefix(kv, "WEIR_LEASES_REGIONS="); ok {
			a, b, _ := strings.Cut(list, ",")
			kv = "WEIR_LEASES_REGIONS=" + b + "," + a
		}
		turned = append(turned, kv)
	}
	has(look(turned), "region eu: the home region of the settings is eu, and leases.home is us", "region us: the home region of the settings is eu")
	has(look(append(slices.Clone(env), "WEIR_LEASES_REGIONS="+strings.Split(strings.Split(strings.Join(env, ";"), "WEIR_LEASES_REGIONS=")[1], ",")[0]+",us=http://127.0.0.1:1", "WEIR_LEASES_TIMEOUT=500ms")),
		"warning region eu: no bridge has run", "error region us: DynamoDB does not answer: nothing listens at 127.0.0.1:1")
}

// Each problem of a region's replica is one finding. A replica without a problem has none.
func TestReplicaChecks(t *testing.T) {
	now := time.Now()
	well := leaseadmin.ReplicaStatus{Region: "us", Table: "ACTIVE", Stream: true, Index: "ACTIVE", Writer: "eu", Heartbeat: now.Add(-time.Second)}
	for name, c := range map[string]struct {
		change func(*leaseadmin.ReplicaStatus)
		want   string
	}{
		"well":     {func(*leaseadmin.ReplicaStatus) {}, ""},
		"creating": {func(r *leaseadmin.ReplicaStatus) { r.Table = "CREATING" }, "error region us: the state of the table is CREATING"},
		"stream":   {func(r *leaseadmin.ReplicaStatus) { r.Stream = false }, "error region us: the stream is off"},
		"index":    {func(r *leaseadmin.ReplicaStatus) { r.Index = "" }, `error region us: the state of the index of available resources is ""`},
		"clock":    {func(r *leaseadmin.ReplicaStatus) { r.Clock = fmt.Errorf("%w: it says 12:00", agent.ErrClock) }, "error region us: this machine's clock is off by more than is allowed: it says 12:00"},
		"home":     {func(r *leaseadmin.ReplicaStatus) { r.Writer = "ap" }, "error region us: the home region of the settings is ap"},
		"bridge":   {func(r *leaseadmin.ReplicaStatus) { r.Heartbeat = now.Add(-time.Hour) }, "warning region us: the last heartbeat of its bridge was 1h0m0s ago"},
	} {
		t.Run(name, func(t *testing.T) {
			r := well
			c.change(&r)
			checks := replicaChecks(&r, "eu", now)
			if len(checks) != 1 || checks[0].OK != (c.want == "") || c.want != "" && (!strings.HasPrefix(findings(checks)[0], c.want) || checks[0].Remedy == "") {
				t.Errorf("%+v", checks)
			}
		})
	}
}
