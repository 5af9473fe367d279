package main

import (
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// TestServerNamesTheBrokers: --server or WEIR_SERVER is enough for every command that reads the
// brokers. The brokers, and the settings that determine names and numbers of topics, are those of
// the server. A setting that differs is refused. With brokers that are set, no server is asked.
func TestServerNamesTheBrokers(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process")
	}
	broker := clitest.FreeAddr(t)
	_, port, _ := net.SplitHostPort(broker)
	common := []string{
		"WEIR_DC=eu-1", "WEIR_DCS=eu-1,us-1=127.0.0.1:1", "WEIR_SPEND_PARTITIONS=3", "WEIR_SPEND_GENERATION=2",
		"WEIR_LEASES_REGIONS=north,south", "WEIR_LEASES_PARTITIONS=2", "WEIR_LEASES_TABLE=x-leases",
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	ready := background(t, common, "ready in ", "dev", "--no-load", "--kafka-port", port, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	api := regexp.MustCompile(`API http://(\S+),`).FindStringSubmatch(ready)
	if api == nil {
		t.Fatalf("no address in %q", ready)
	}
	base := []string{"WEIR_DATA_DIR=" + t.TempDir()}
	server, down := append(slices.Clone(base), "WEIR_SERVER="+api[1]), append(slices.Clone(base), "WEIR_SERVER=127.0.0.1:1")
	with := func(environ []string, more ...string) []string { return append(slices.Clone(environ), more...) }
	for _, c := range []struct {
		name    string
		environ []string
		line    string
		code    int
		want    string
	}{
		{"flag", base, "lag --server " + api[1], cli.ExitOK, "lease-executor.south"},
		{"lag", server, "lag", cli.ExitOK, "ads.events.from.us-1.g2"},
		{"dead letters", server, "dlq list -o json", cli.ExitOK, "[]"},
		{"dead letter", server, "dlq show ads.events.g2/0/0", cli.ExitFailed, "weir dlq list"},
		{"status", server, "status", cli.ExitOK, "duplicates: 0 open"},
		{"duplicates", server, "dedup list -o json", cli.ExitOK, "[]"},
		{"plan", server, "balancer plan", cli.ExitOK, ""},
		{"doctor", server, "doctor --for spend,leases -o json", cli.ExitOK, "partitions of lease-executor.south"},
		{"skip", server, "partition skip ads.events.g2/2 --to 8", cli.ExitFailed, "nothing was skipped"},
		{"scan", server, "bridge scan south", cli.ExitOK, "requested a scan of south"},
		{"rejected rows", server, "bridge rejected -o json", cli.ExitOK, "[]"},
		{"history", server, "lease history --client demo --pool demo --key none --from kafka -o json", cli.ExitOK, "[]"},
		{"doctor without the configuration", server, "doctor", cli.ExitOK, "not known, because the brokers are those of a server"},

		{"equal settings", with(server, common...), "lag", cli.ExitOK, "lease-executor.south"},
		{"other datacentre", with(server, "WEIR_DC=us-1"), "lag", cli.ExitConfig, "dc is us-1 (WEIR_DC), and eu-1 at the server " + api[1]},
		{"a datacentre outside of the ring", with(server, "WEIR_DC=ap-1"), "lag", cli.ExitConfig, "dc is ap-1 (WEIR_DC), and eu-1 at the server"},
		{"other ring", with(server, "WEIR_DC=eu-1", "WEIR_DCS=eu-1,ap-1=127.0.0.1:1"), "lag", cli.ExitConfig, "dcs is eu-1,ap-1 (WEIR_DCS), and eu-1,us-1 at the server"},
		{"other partitions", with(server, "WEIR_SPEND_PARTITIONS=24"), "doctor", cli.ExitConfig, "spend.partitions is 24 (WEIR_SPEND_PARTITIONS), and 3 at the server"},
		{"other generation", with(server, "WEIR_SPEND_GENERATION=1"), "dlq list", cli.ExitConfig, "spend.generation is 1 (WEIR_SPEND_GENERATION), and 2 at the server"},
		{"other regions", server, "bridge scan south --regions south,north", cli.ExitConfig, "leases.regions is south,north (--regions), and north,south at the server"},
		{"other lease partitions", with(server, "WEIR_LEASES_PARTITIONS=12"), "status", cli.ExitConfig, "leases.partitions is 12 (WEIR_LEASES_PARTITIONS), and 2 at the server"},
		{"no answer", down, "lag", cli.ExitUnavailable, "set --brokers"},
		{"brokers set", with(down, common...), "lag --brokers " + broker, cli.ExitOK, "ads.events.from.us-1.g2"},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, c.environ, c.code, c.want, strings.Fields(c.line)...) })
	}
}
