package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
)

// roleNames are what --roles takes.
func roleNames() []string { return []string{"spendcounter"} }

func newRunCmd(a *app) *cobra.Command {
	var roleList []string
	c := &cobra.Command{
		Use:   "run --roles spendcounter -f weir.yaml",
		Short: "Runs roles against your Kafka until it is told to stop",
		Long: "Runs roles against your Kafka. More processes share the partitions: give each its own data_dir and\n" +
			"instance. SIGTERM commits what is folded, leaves the group and ends; a second one ends at once.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd, roleList) },
	}
	c.Flags().StringSliceVar(&roleList, "roles", roleNames(), "roles to run")
	c.Flags().String("data-dir", "", "directory of the state (default: data_dir)")
	c.Flags().String("instance", "", "stable name of this process (default: instance)")
	c.Flags().String("listen", "", "address of the API (default: api.listen)")
	c.Flags().String("ops-listen", "", "address of health and metrics (default: api.ops_listen)")
	c.Flags().String("memory", "", "budget of memory, such as 512MiB (default: memory); `weir config memory` shows where it goes")
	a.bind(c.Flags(), "memory", "memory")
	a.bind(c.Flags(), "data-dir", "data_dir")
	a.bind(c.Flags(), "instance", "instance")
	a.bind(c.Flags(), "listen", "api.listen")
	a.bind(c.Flags(), "ops-listen", "api.ops_listen")
	return c
}

func (a *app) run(cmd *cobra.Command, roleList []string) error {
	for _, r := range roleList {
		if r != "spendcounter" {
			do := "the roles are: " + strings.Join(roleNames(), ", ")
			if n, ok := config.Nearest(r, roleNames()); ok {
				do = "did you mean " + n + "?"
			}
			return usage(fmt.Sprintf("no role is called %q", r), do)
		}
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	k, err := kafka(cfg)
	if err != nil {
		return err
	}
	log, err := obs.NewLogger(a.stderr, cfg.Log.Level, cfg.Log.Format)
	if err != nil {
		return fail(exitConfig, "cannot set up the log", err, "correct log.level and log.format")
	}
	traces, flush, err := a.traces(cmd.Context(), cfg, log)
	if err != nil {
		return err
	}
	defer flush()
	n, err := newNode(cfg, k, log, traces)
	if err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(sharesOf(cfg).heap) // garbage too: the collector works harder before it exceeds the budget
	}
	return n.run(cmd.Context(), func() {
		a.say("ready: API %s://%s, metrics %[1]s://%[3]s/metrics, %[4]d partitions", n.server.Scheme(), n.server.Addr(), n.server.OpsAddr(), n.view.Owned())
	})
}
