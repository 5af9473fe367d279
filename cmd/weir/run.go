package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
)

// What --roles takes, beside the roles of the lease loop one by one.
const (
	roleSpend  = "spendcounter"
	roleLeases = "leases" // all roles of the lease loop
)

func roleNames() []string { return append([]string{roleSpend, roleLeases}, leaseRoles()...) }

// loopRoles are the roles of the lease loop in a list.
func loopRoles(list []string) []string {
	return slices.DeleteFunc(rolesOf(list), func(r string) bool { return r == roleSpend })
}

// rolesOf are all roles that a list stands for, each once.
func rolesOf(list []string) (all []string) {
	for _, r := range append([]string{roleSpend}, leaseRoles()...) {
		if slices.Contains(list, r) || r != roleSpend && slices.Contains(list, roleLeases) {
			all = append(all, r)
		}
	}
	return all
}

func rolesFlag(f *pflag.FlagSet, list *[]string) {
	f.StringSliceVar(list, "roles", []string{roleSpend}, "roles of the process: "+strings.Join(roleNames(), ", "))
}

func checkRoles(list []string) error {
	if len(list) == 0 {
		return usage("no role is named", "the roles are: "+strings.Join(roleNames(), ", "))
	}
	for _, r := range list {
		if !slices.Contains(roleNames(), r) {
			do := "the roles are: " + strings.Join(roleNames(), ", ")
			if n, ok := config.Nearest(r, roleNames()); ok {
				do = "did you mean " + n + "?"
			}
			return usage(fmt.Sprintf("no role is called %q", r), do)
		}
	}
	return nil
}

// opsCommands returns the commands that run processes and check them.
func opsCommands(a *app) []*cobra.Command {
	return []*cobra.Command{newRunCmd(a), newReadyCmd(a), newDoctorCmd(a), newConfigCmd(a), newTLSCmd(a), newVersionCmd(a), newBenchCmd(a)}
}

func newRunCmd(a *app) *cobra.Command {
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
	leaseFlags(a, c.Flags())
	a.bind(c.Flags(), "memory", "memory")
	a.bind(c.Flags(), "data-dir", "data_dir")
	a.bind(c.Flags(), "instance", "instance")
	a.bind(c.Flags(), "listen", "api.listen")
	a.bind(c.Flags(), "ops-listen", "api.ops_listen")
	return c
}

func runRoles(a *app, cmd *cobra.Command, roleList []string) error {
	if err := checkRoles(roleList); err != nil {
		return err
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	k, err := kafka(cfg)
	if err != nil {
		return nodeFailure(err)
	}
	log, err := obs.NewLogger(a.stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return fail(exitConfig, "cannot set up the log", err, "correct log.level and log.format")
	}
	provider, flush, err := traces(cmd.Context(), a.getenv, cfg, log)
	if err != nil {
		return nodeFailure(err)
	}
	defer flush()
	parts := nodeParts{kafka: k, log: log, traces: provider, roles: roleList}
	if len(loopRoles(roleList)) > 0 {
		if err := checkLoop(cfg); err != nil {
			return nodeFailure(err)
		}
		if parts.table, err = openLeases(cmd.Context(), cfg.Leases); err != nil {
			return err
		}
	}
	n, err := newNode(cfg, parts)
	if err != nil {
		return nodeFailure(err)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(budgetOf(cfg, roleList).heap()) // garbage too: the collector works harder before it exceeds the budget
	}
	return nodeFailure(n.run(cmd.Context(), func() {
		a.say("ready: API %s://%s, metrics %[1]s://%[3]s/metrics, %[4]d partitions", n.server.Scheme(), n.server.Addr(), n.server.OpsAddr(), n.owned())
	}))
}
