package ops

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
)

// Commands returns the commands that run and check processes.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newRunCmd(a), newReadyCmd(a), newDoctorCmd(a), newPartitionCmd(a), newConfigCmd(a), newTLSCmd(a), newVersionCmd(a), newBenchCmd(a),
	}
}

func newRunCmd(a *cli.App) *cobra.Command {
	var roles []string
	c := &cobra.Command{
		Use:   "run",
		Short: "Run roles against your Kafka cluster",
		Long: "Run roles against your Kafka cluster until SIGTERM or SIGINT.\n\n" +
			"Roles, for --roles:\n" + roleHelp() + "\n" +
			"While no broker accepts connections, the process waits and logs that every ten seconds.\n" +
			"Several processes share the partitions of a role. Give each process its own data_dir and\n" +
			"instance. At SIGTERM a process commits what it has processed, leaves the group and exits. A\n" +
			"second SIGTERM ends it at once.",
		Example: "  weir run --roles spendcounter,leases -f weir.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runRoles(a, cmd, roles) },
	}
	cli.RefuseServer(c, "it is a server; --listen is its own address")
	rolesFlag(c.Flags(), &roles)
	c.Flags().String("data-dir", "", "directory of the state (default: data_dir)")
	c.Flags().String("instance", "", "stable name of this process (default: instance)")
	c.Flags().String("listen", "", "address of the API (default: api.listen)")
	c.Flags().String("ops-listen", "", "address of health checks and metrics (default: api.ops_listen)")
	c.Flags().String("memory", "", "memory budget, such as 512MiB (default: memory); see weir config memory")
	connect.LeaseFlags(a, c.Flags())
	a.Bind(c.Flags(), "memory", "memory")
	a.Bind(c.Flags(), "data-dir", "data_dir")
	a.Bind(c.Flags(), "instance", "instance")
	a.Bind(c.Flags(), "listen", "api.listen")
	a.Bind(c.Flags(), "ops-listen", "api.ops_listen")
	return c
}

// roleHelp lists the values of --roles, one per line, with what each stands for.
func roleHelp() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, g := range node.Groups() {
		roles := node.InGroups(g.Name)
		indent := "  "
		if len(roles) > 1 {
			fmt.Fprintf(w, "  %s\t%s:\n", g.Name, g.Summary)
			indent = "    "
		}
		for _, r := range roles {
			fmt.Fprintf(w, "%s%s\t%s\n", indent, r.Name, r.Summary)
		}
	}
	_ = w.Flush() // a strings.Builder does not fail
	return text.String()
}

func rolesFlag(f *pflag.FlagSet, roles *[]string) {
	f.StringSliceVar(roles, "roles", node.DefaultRoles(), "roles of the process: "+strings.Join(node.RoleNames(), ", "))
	cli.Enum(f, "roles", node.RoleNames()...)
}

// selectRoles returns the roles that --roles names, or a usage error.
func selectRoles(names []string) ([]node.Role, error) {
	list := "the roles are: " + strings.Join(node.RoleNames(), ", ")
	if len(names) == 0 {
		return nil, cli.UsageError("--roles is empty", list)
	}
	roles, err := node.Select(names)
	var unknown *node.UnknownRoleError
	if errors.As(err, &unknown) {
		if n, ok := config.Nearest(unknown.Name, node.RoleNames()); ok {
			list = "did you mean " + n + "?"
		}
		return nil, cli.UsageError(err.Error(), list)
	}
	return roles, err
}

func runRoles(a *cli.App, cmd *cobra.Command, names []string) error {
	roles, err := selectRoles(names)
	if err != nil {
		return err
	}
	cfg, k, err := connect.OwnCluster(a)
	if err != nil {
		return err
	}
	k.Waiting = nil // the log has it
	log, err := obs.NewLogger(a.Stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the log", err, "correct log.level and log.format")
	}
	defer node.LogStop(cmd.Context(), log)()
	traces, flush, err := node.Traces(cmd.Context(), a.Getenv, cfg, log)
	if err != nil {
		return connect.NodeFailure(err)
	}
	defer flush()
	if err := node.CheckSettings(cfg, roles); err != nil {
		return connect.NodeFailure(err)
	}
	c := node.Config{Kafka: k, Log: log, Traces: traces, Roles: roles}
	if node.NeedLeaseTable(roles) {
		if c.Table, err = connect.OpenLeaseTable(cmd.Context(), cfg.Leases); err != nil {
			return err
		}
	}
	n, err := node.New(cfg, c)
	if err != nil {
		return connect.NodeFailure(err)
	}
	node.NewBudget(cfg, roles).LimitHeap(0)
	return connect.NodeFailure(n.Run(cmd.Context(), func() {
		dir, err := filepath.Abs(cfg.DataDir)
		if err != nil {
			dir = cfg.DataDir
		}
		a.Notef("ready: API %s://%s, metrics %[1]s://%[3]s/metrics, %[4]d partitions, state in %[5]s",
			n.Server.Scheme(), n.Server.Addr(), n.Server.OpsAddr(), n.Owned(cmd.Context()), dir)
	}))
}
