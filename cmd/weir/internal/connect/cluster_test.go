package connect

import (
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
