package ops

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
)

func rolesFlag(f *pflag.FlagSet, list *[]string) {
	f.StringSliceVar(list, "roles", []string{node.RoleSpend}, "roles of the process: "+strings.Join(node.RoleNames(), ", "))
}

func checkRoles(list []string) error {
	if len(list) == 0 {
		return cli.UsageError("no role is named", "the roles are: "+strings.Join(node.RoleNames(), ", "))
	}
	for _, r := range list {
		if !slices.Contains(node.RoleNames(), r) {
			do := "the roles are: " + strings.Join(node.RoleNames(), ", ")
			if n, ok := config.Nearest(r, node.RoleNames()); ok {
				do = "did you mean " + n + "?"
			}
			return cli.UsageError(fmt.Sprintf("no role is called %q", r), do)
		}
	}
	return nil
}

// Commands returns the commands that run processes and check them.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newRunCmd(a), newReadyCmd(a), newDoctorCmd(a), newConfigCmd(a), newTLSCmd(a), newVersionCmd(a), newBenchCmd(a)}
}

func newRunCmd(a *cli.App) *cobra.Command {
	var roleList []string
	c := &cobra.Command{
		Use:   "run --roles spendcounter,leases -f weir.yaml",
		Short: "Runs roles against your Kafka until it is told to stop",
		Long: "Runs roles against your Kafka: spendcounter, or those of the lease loop, bridge, liberator, dedup, balancer and executor, all of\n" +
			"which leases stands for. More processes share the partitions: give each its own data_dir and\n" +
			"instance. SIGTERM commits what is folded, leaves the group and ends; a second one ends at once.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRoles(a, cmd, roleList) },
	}
	rolesFlag(c.Flags(), &roleList)
	c.Flags().String("data-dir", "", "directory of the state (default: data_dir)")
	c.Flags().String("instance", "", "stable name of this process (default: instance)")
	c.Flags().String("listen", "", "address of the API (default: api.listen)")
	c.Flags().String("ops-listen", "", "address of health and metrics (default: api.ops_listen)")
	c.Flags().String("memory", "", "budget of memory, such as 512MiB (default: memory); `weir config memory` shows where it goes")
	connect.LeaseFlags(a, c.Flags())
	a.Bind(c.Flags(), "memory", "memory")
	a.Bind(c.Flags(), "data-dir", "data_dir")
	a.Bind(c.Flags(), "instance", "instance")
	a.Bind(c.Flags(), "listen", "api.listen")
	a.Bind(c.Flags(), "ops-listen", "api.ops_listen")
	return c
}

func runRoles(a *cli.App, cmd *cobra.Command, roleList []string) error {
	if err := checkRoles(roleList); err != nil {
		return err
	}
	cfg, err := a.LoadConfig()
	if err != nil {
		return err
	}
	k, err := node.Kafka(cfg)
	if err != nil {
		return connect.NodeFailure(err)
	}
	log, err := obs.NewLogger(a.Stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the log", err, "correct log.level and log.format")
	}
	provider, flush, err := node.Traces(cmd.Context(), a.Getenv, cfg, log)
	if err != nil {
		return connect.NodeFailure(err)
	}
	defer flush()
	parts := node.Parts{Kafka: k, Log: log, Traces: provider, Roles: roleList}
	if len(node.LeaseRoles(roleList)) > 0 {
		if err := node.CheckLeaseRoles(cfg); err != nil {
			return connect.NodeFailure(err)
		}
		if parts.Table, err = connect.OpenLeaseTable(cmd.Context(), cfg.Leases); err != nil {
			return err
		}
	}
	n, err := node.New(cfg, parts)
	if err != nil {
		return connect.NodeFailure(err)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(node.NewBudget(cfg, roleList).HeapLimit()) // garbage too: the collector works harder before it exceeds the budget
	}
	return connect.NodeFailure(n.Run(cmd.Context(), func() {
		a.Notef("ready: API %s://%s, metrics %[1]s://%[3]s/metrics, %[4]d partitions", n.Server.Scheme(), n.Server.Addr(), n.Server.OpsAddr(), n.Owned())
	}))
}
