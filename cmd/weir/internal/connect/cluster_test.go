package connect

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// clusterCommands returns commands that ask for the brokers.
func clusterCommands(a *cli.App) []*cobra.Command {
	spend := &cobra.Command{Use: "spend", RunE: func(cmd *cobra.Command, _ []string) error {
		_, _, err := Cluster(cmd.Context(), a)
		return err
	}}
	leases := &cobra.Command{Use: "leases", RunE: func(cmd *cobra.Command, _ []string) error {
		_, _, err := LeaseCluster(cmd.Context(), a)
		return err
	}}
	return []*cobra.Command{spend, leases}
}

// TestServerWithoutSpendCounter: a server without the role spendcounter does not know its settings.
// Those that are not set are defaults, and a command of the counter notes it.
func TestServerWithoutSpendCounter(t *testing.T) {
	leases := &weirpb.LeaseSettings{Table: "leases", Regions: []string{"eu"}, Home: "eu", Skew: "500ms", Partitions: 3}
	without := clitest.Server(t, &weirpb.GetClusterResponse{Brokers: []string{"127.0.0.1:1"}, Leases: leases})
	with := clitest.Server(t, &weirpb.GetClusterResponse{Brokers: []string{"127.0.0.1:1"}, Dc: "eu", Partitions: 3, Generation: 1, Leases: leases})
	for _, c := range []struct {
		command, server, note string
		environ               []string
	}{
		{"spend", without, "dc = local, spend.partitions = 24 and spend.generation = 1 are defaults", nil},
		{"spend", without, "dc = local and spend.generation = 1 are defaults", []string{"WEIR_SPEND_PARTITIONS=3"}},
		{"spend", without, "", []string{"WEIR_DC=eu", "WEIR_SPEND_PARTITIONS=3", "WEIR_SPEND_GENERATION=1"}},
		{"spend", with, "", nil},
		{"leases", without, "", nil},
	} {
		r := clitest.Run(t, clusterCommands, append(c.environ, "WEIR_SERVER="+c.server), c.command)
		if noted := r.Stderr != ""; r.Code != cli.ExitOK || noted != (c.note != "") || !strings.Contains(r.Stderr, c.note) {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// TestNamedBrokers: the password of SASL PLAIN does not go in the clear to brokers that a server
// without a certificate has named, unless the configuration names the same ones.
func TestNamedBrokers(t *testing.T) {
	at := clitest.Server(t, &weirpb.GetClusterResponse{Brokers: []string{"127.0.0.1:1", "127.0.0.1:2"}, Dc: "eu", Partitions: 3, Generation: 1})
	tls := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: at}))
	defer tls.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: tls.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := []string{"WEIR_KAFKA_SASL_MECHANISM=PLAIN", "WEIR_KAFKA_SASL_USER=u", "WEIR_KAFKA_SASL_PASSWORD=secret"}
	commands := func(a *cli.App) []*cobra.Command {
		named := &cobra.Command{Use: "import", RunE: func(*cobra.Command, []string) error {
			cfg, _, err := LocalCluster(a)
			if err != nil {
				return err
			}
			return CheckNamedBrokers(a, cfg, []string{"127.0.0.1:1", "127.0.0.1:2"})
		}}
		return append(clusterCommands(a), named)
	}
	for name, c := range map[string]struct {
		environ []string
		server  string
		refused bool
	}{
		"no password":      {nil, at, false},
		"plain":            {plain, at, true},
		"plain over http":  {plain, "http://" + at, true},
		"other mechanism":  {append(plain[1:], "WEIR_KAFKA_SASL_MECHANISM=SCRAM-SHA-512"), at, false},
		"TLS of Kafka":     {append(slices.Clone(plain), "WEIR_KAFKA_TLS_ENABLED=true"), at, false},
		"same brokers":     {append(slices.Clone(plain), "WEIR_KAFKA_BROKERS=127.0.0.1:2,127.0.0.1:1"), at, false},
		"verified server":  {append(slices.Clone(plain), "WEIR_API_CA_FILE="+ca), tls.URL, false},
		"verified address": {append(slices.Clone(plain), "WEIR_API_CA_FILE="+ca), tls.Listener.Addr().String(), false},
	} {
		for _, command := range []string{"spend", "leases", "import"} {
			r := clitest.Run(t, commands, c.environ, command, "--server", c.server)
			refused := r.Code == cli.ExitConfig && strings.Contains(r.Stderr, "the password of Kafka is not sent to brokers that a server has named")
			if refused != c.refused || !refused && r.Code != cli.ExitOK {
				t.Errorf("%s, %s: %+v", name, command, r)
			}
		}
	}
	// Some other brokers are not the same ones.
	r := clitest.Run(t, commands, append(slices.Clone(plain), "WEIR_KAFKA_BROKERS=127.0.0.1:1"), "import", "--server", at)
	if r.Code != cli.ExitConfig {
		t.Errorf("one of two brokers is known: %+v", r)
	}
}
