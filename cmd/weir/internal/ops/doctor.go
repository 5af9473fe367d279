package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

func newDoctorCmd(a *cli.App) *cobra.Command {
	var what []string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Checks brokers, topics, clocks and disk, and the table of leases, against what weir needs",
		Long: "Checks brokers, topics, clocks and disk against what weir needs; with --for leases also the topics of the lease loop, and in each\n" +
			"region the table, its index and stream, the clock, the settings, and when its bridge was last there.",
		Example: "  weir doctor --for spend,leases --brokers k1:9092",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := connect.CheckFor(what); err != nil {
				return err
			}
			cfg, k, err := connect.Cluster(a)
			if err != nil {
				return err
			}
			checks, err := diagnose(cmd.Context(), cfg, k, what)
			if err != nil {
				return err
			}
			if err := printChecks(a, checks); err != nil {
				return err
			}
			for _, c := range checks {
				if !c.OK && c.Severity == kafkaadmin.Error {
					return cli.Fail(cli.ExitFailed, "not everything is there that weir needs", errors.New(c.Name+": "+c.Detail), c.Remedy)
				}
			}
			return nil
		},
	}
	connect.ForFlag(c.Flags(), &what)
	connect.LeaseFlags(a, c.Flags())
	return c
}

// diagnose looks at all that is needed for each of what.
func diagnose(ctx context.Context, cfg *config.Config, k kafka.Cluster, what []string) ([]kafkaadmin.Check, error) {
	topics, defaults := connect.RequiredTopics(cfg, what...)
	o := kafkaadmin.Options{
		Topics: topics, Defaults: defaults, Apply: "weir topics apply --for " + strings.Join(what, ","), StateDir: cfg.DataDir,
		SessionTimeout: cfg.Processor.SessionTimeout, TransactionTimeout: cfg.Processor.TransactionTimeout,
	}
	spend := slices.Contains(what, connect.ForSpend)
	if spend {
		proc, err := node.SpendRole(cfg).Processor()
		if err != nil {
			return nil, err
		}
		o.Processor = proc
	}
	checks := kafkaadmin.Doctor(ctx, k, o)
	if spend && cfg.Spend.Generation > 1 {
		checks = append(checks, formerTopics(ctx, cfg, k))
	}
	if slices.Contains(what, connect.ForLeases) {
		return append(checks, leaseChecks(ctx, cfg)...), nil
	}
	return append(checks, kafkaadmin.Check{Name: "leases", OK: true, Severity: kafkaadmin.Info, Detail: "not looked at: `weir doctor --for leases` does"}), nil
}

// formerTopics looks at those that the state was moved from: what comes in there is counted by nobody.
func formerTopics(ctx context.Context, cfg *config.Config, k kafka.Cluster) kafkaadmin.Check {
	former := node.SpendRole(cfg)
	former.Layout.Generation--
	c := kafkaadmin.Check{Name: "former topics", OK: true, Severity: kafkaadmin.Error, Remedy: "find who still sends there, and have it send to the topics of this generation; what it sent is counted once it is sent there again"}
	proc, err := former.Processor()
	if err != nil {
		c.OK, c.Detail = false, err.Error()
		return c
	}
	lag, err := kafkaadmin.Lag(ctx, k, proc.App, proc.Inputs)
	if err != nil {
		c.Detail = "not there any more, or they cannot be read"
		return c
	}
	var unread int64
	for _, l := range lag {
		unread += l.Lag
	}
	c.OK, c.Detail = unread == 0, fmt.Sprintf("%d records of generation %d are not counted", unread, former.Layout.Generation)
	return c
}

// printChecks prints one line a check, what to do below it.
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
