package main

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/internal/testlimit"
)

// TestAdoptionIsInStatus: `weir status` has a line for the adoption of a region, also of one pool,
// and for its end.
func TestAdoptionIsInStatus(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	_, port, _ := net.SplitHostPort(clitest.FreeAddr(t))
	ready := background(t, []string{"WEIR_LEASES_REGIONS=north,south", "WEIR_LEASES_PARTITIONS=2"}, "ready in ",
		"dev", "--no-load", "--kafka-port", port, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	env := []string{"WEIR_SERVER=" + regexp.MustCompile(`API http://(\S+),`).FindStringSubmatch(ready)[1]}
	dead := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	for _, step := range []struct{ command, line string }{
		{"region adopt south --by north --dead-since " + dead + " --yes", "adopt      north adopts the resources of south"},
		{"region adopt south --undo", "readmit    south is active again"},
	} {
		expect(t, env, cli.ExitOK, "", strings.Fields(step.command)...)
		for _, args := range []string{"status", "status --client demo --pool demo"} {
			testlimit.Within(t, "weir "+args+" has the line", func(context.Context) error {
				if r := weir(t, env, strings.Fields(args)...); !strings.Contains(r.Stdout, step.line) { //nolint:contextcheck // the command has its own context
					return fmt.Errorf("no line %q: %+v", step.line, r)
				}
				return nil
			})
		}
	}
}
