package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

func newDoctorCmd(a *cli.App) *cobra.Command {
	var groups []string
	acls := false
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check brokers, topics, clocks, disk, partitions and lease table",
		Long: "Check whether brokers, topics, clocks and disk are as weir needs them, and whether the partitions of\n" +
			"running processes run. Each check that fails has a remedy.\n\n" +
			"With --for leases it also checks the topics of the lease loop and, in each region: the table, its\n" +
			"index and stream, the clock, the settings, and the time of the bridge's last heartbeat.",
		Example: "  weir doctor --for spend,leases --brokers k1:9092",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := connect.CheckFor(groups); err != nil {
				return err
			}
			cfg, k, err := connect.Cluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			checks := diagnose(cmd.Context(), cfg, k, groups)
			if acls {
				list, err := aclChecks(cfg, node.InGroups(groups...))
				if err != nil {
					return err
				}
				checks = append(checks, list...)
			}
			if err := printChecks(a, checks); err != nil {
				return err
			}
			noteUnchecked(a, groups)
			for _, c := range checks {
				if !c.OK && c.Severity == kafkaadmin.Error {
					return cli.Fail(cli.ExitFailed, "a check failed", errors.New(c.Name+": "+c.Detail), c.Remedy)
				}
			}
			return nil
		},
	}
	connect.ForFlag(c.Flags(), &groups)
	c.Flags().BoolVar(&acls, "acls", false,
		"also list the ACLs that the roles, and the move to this generation, need on a cluster with an authorizer")
	connect.LeaseFlags(a, c.Flags())
	return c
}

// diagnose checks what the roles of groups need.
func diagnose(ctx context.Context, cfg *config.Config, k kafka.Cluster, groups []string) []kafkaadmin.Check {
	roles := node.InGroups(groups...)
	o := kafkaadmin.DoctorOptions{
		Topics: connect.RequiredTopics(cfg, groups), Defaults: connect.TopicDefaults(cfg, groups), StateDir: cfg.DataDir,
		SessionTimeout: cfg.Processor.SessionTimeout, TransactionTimeout: cfg.Processor.TransactionTimeout, DevCluster: devbroker.ClusterID,
	}
	var checks []kafkaadmin.Check
	if connect.OfServer(cfg) {
		o.Defaults.ReplicationFactor, o.Defaults.MinInsync, o.StateDir = 0, 0, ""
		for i := range o.Topics {
			o.Topics[i].Config = maps.Clone(o.Topics[i].Config)
			delete(o.Topics[i].Config, "retention.ms")
		}
		checks = append(checks, kafkaadmin.Check{
			Name: "configuration", Severity: kafkaadmin.Warning,
			Detail: "not known, because the brokers are those of a server: its settings of topics and of the count, and its disk, are not checked",
			Remedy: "run the command on the host of a process, with its configuration",
		})
	}
	apps, err := node.Apps(cfg, roles)
	if err != nil {
		f := cli.Explain(connect.NodeFailure(err))
		return []kafkaadmin.Check{{Name: "configuration", Severity: kafkaadmin.Error, Detail: f.Error(), Remedy: f.Do}}
	}
	for _, app := range apps {
		if app.Processor != nil {
			o.Apps = append(o.Apps, app.Name)
		}
	}
	checks = append(checks, kafkaadmin.Doctor(ctx, k, o)...)
	if !slices.ContainsFunc(checks, func(c kafkaadmin.Check) bool { return c.Name == kafkaadmin.BrokersCheck && !c.OK }) {
		checks = append(checks, partitionChecks(ctx, cfg, k, apps)...)
		for _, r := range roles {
			if r.Doctor != nil {
				checks = append(checks, r.Doctor(ctx, cfg, k)...)
			}
		}
	}
	if node.NeedLeaseTable(roles) {
		return append(checks, leaseChecks(ctx, cfg)...)
	}
	return checks
}

// aclChecks lists the ACLs of each role, and those of the commands that move its state.
func aclChecks(cfg *config.Config, roles []node.Role) (checks []kafkaadmin.Check, err error) {
	for _, r := range roles {
		for _, of := range []struct {
			name string
			acls func(*config.Config) ([]string, error)
		}{{r.Name, r.ACLs}, {"weir repartition", r.RepartitionACLs}} {
			if of.acls == nil {
				continue
			}
			lines, err := of.acls(cfg)
			if err != nil {
				return nil, fmt.Errorf("list the ACLs of role %s: %w", r.Name, err)
			}
			if len(lines) > 0 {
				checks = append(checks, kafkaadmin.Check{
					Name: "acls of " + of.name, OK: true, Severity: kafkaadmin.Info,
					Detail: "the principal needs:\n" + strings.Join(lines, "\n"),
				})
			}
		}
	}
	return checks, nil
}

// noteUnchecked notes the groups whose topics and lease table were not checked.
func noteUnchecked(a *cli.App, groups []string) {
	for _, g := range node.GroupNames() {
		if !slices.Contains(groups, g) && node.NeedLeaseTable(node.InGroups(g)) {
			a.Notef("%s: not checked; `weir doctor --for %[1]s` checks them", g)
		}
	}
}

// printChecks prints a line for each check, and the remedy below a check that failed.
func printChecks(a *cli.App, checks []kafkaadmin.Check) error {
	if a.Structured() {
		return cli.PrintRows(a, checks)
	}
	return a.Print(func(w io.Writer) error {
		for _, c := range checks {
			mark := "ok"
			if !c.OK {
				mark = string(c.Severity)
			}
			indent := "\n" + strings.Repeat(" ", 10)
			if _, err := fmt.Fprintf(w, "%-8s  %s: %s\n", mark, c.Name, strings.ReplaceAll(c.Detail, "\n", indent)); err != nil {
				return err
			}
			if c.Remedy != "" && !c.OK {
				if _, err := fmt.Fprintf(w, "%10sdo: %s\n", "", c.Remedy); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
