package ops

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/agent"
	leaseadmin "github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/lease"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// findings are what is wrong, a line each.
func findings(checks []kafkaadmin.Check) (list []string) {
	for _, c := range checks {
		if !c.OK {
			list = append(list, fmt.Sprintf("%s %s: %s (%s)", c.Severity, c.Name, c.Detail, c.Remedy))
		}
	}
	return list
}

// TestDoctorOfLeases: what is missing is found, region by region, and named with what to do.
func TestDoctorOfLeases(t *testing.T) {
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
				t.Errorf("%q is not among\n%s", w, strings.Join(list, "\n"))
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
	has(look(env), "it lacks: eu: create table", "it lacks: eu: add a replica in us", "region eu: it has no copy", "region us: it has no copy")
	do("table apply")
	has(look(env), "region eu: it is not in the table: nobody can lease there (run `weir region create eu`", "region us: it is not in the table")
	do("region create eu")
	do("region create us")
	for wait := time.Now(); len(look(env)) != 2 && time.Since(wait) < 10*time.Second; { // replication
	}
	has(look(env), "warning region eu: no bridge ever ran", "warning region us: no bridge ever ran")

	var turned []string
	for _, kv := range env {
		if list, ok := strings.CutPrefix(kv, "WEIR_LEASES_REGIONS="); ok {
			a, b, _ := strings.Cut(list, ",")
			kv = "WEIR_LEASES_REGIONS=" + b + "," + a
		}
		turned = append(turned, kv)
	}
	has(look(turned), "region eu: its settings are kept in eu, and leases.home is us", "region us: its settings are kept in eu")
	has(look(append(slices.Clone(env), "WEIR_LEASES_REGIONS="+strings.Split(strings.Split(strings.Join(env, ";"), "WEIR_LEASES_REGIONS=")[1], ",")[0]+",us=http://127.0.0.1:1", "WEIR_LEASES_TIMEOUT=500ms")),
		"warning region eu: no bridge ever ran", "error region us: DynamoDB does not answer: nothing listens at 127.0.0.1:1")
}

// TestReplicaChecks: each thing that can be wrong with a region's copy of the table is one finding, and a copy that is well is none.
func TestReplicaChecks(t *testing.T) {
	now := time.Now()
	well := leaseadmin.Replica{Region: "us", Table: "ACTIVE", Stream: true, Index: "ACTIVE", Writer: "eu", Heartbeat: now.Add(-time.Second)}
	for name, c := range map[string]struct {
		spoil func(*leaseadmin.Replica)
		want  string
	}{
		"well":     {func(*leaseadmin.Replica) {}, ""},
		"creating": {func(r *leaseadmin.Replica) { r.Table = "CREATING" }, "error region us: its table is CREATING"},
		"stream":   {func(r *leaseadmin.Replica) { r.Stream = false }, "error region us: its stream is off"},
		"index":    {func(r *leaseadmin.Replica) { r.Index = "" }, `error region us: its index of what is available is ""`},
		"clock":    {func(r *leaseadmin.Replica) { r.Clock = fmt.Errorf("%w: it says 12:00", agent.ErrClock) }, "error region us: this machine's clock is off by more than is allowed: it says 12:00"},
		"home":     {func(r *leaseadmin.Replica) { r.Writer = "ap" }, "error region us: its settings are kept in ap"},
		"bridge":   {func(r *leaseadmin.Replica) { r.Heartbeat = now.Add(-time.Hour) }, "warning region us: its bridge gave the last sign of life 1h0m0s ago"},
	} {
		t.Run(name, func(t *testing.T) {
			r := well
			c.spoil(&r)
			checks := replicaChecks(&r, "eu", now)
			if len(checks) != 1 || checks[0].OK != (c.want == "") || c.want != "" && (!strings.HasPrefix(findings(checks)[0], c.want) || checks[0].Remedy == "") {
				t.Errorf("%+v", checks)
			}
		})
	}
}
