package topics

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// Commands returns `weir topics` and `weir lag`.
func Commands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{newTopicsCmd(a), newLagCmd(a)}
}

func newTopicsCmd(a *cli.App) *cobra.Command {
	var groups []string
	c := &cobra.Command{Use: "topics", Short: "Create and check the topics that weir needs"}
	cli.RefuseServer(c, "it compares the brokers of --brokers or kafka.brokers with the whole configuration, which a server does not return")
	plan := &cobra.Command{
		Use:   "plan",
		Short: "Show what weir topics apply would change",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, steps, err := topicPlan(a, cmd, groups)
			if err != nil {
				return err
			}
			return printSteps(a, steps)
		},
	}
	apply := &cobra.Command{
		Use:   "apply",
		Short: "Create missing topics and correct settings; remove no topic and change no number of partitions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, steps, err := topicPlan(a, cmd, groups)
			if err != nil {
				return err
			}
			if err := printSteps(a, steps); err != nil {
				return err
			}
			if err := kafkaadmin.ApplySteps(cmd.Context(), k, steps); err != nil {
				return connect.TopicFailure(0, "cannot create or change all topics", err)
			}
			return nil
		},
	}
	for _, sub := range []*cobra.Command{plan, apply} {
		sub.Flags().Int("replication-factor", 0, "replicas of each partition (default: topics.replication_factor)")
		connect.ForFlag(sub.Flags(), &groups)
		sub.Flags().Int("min-insync", 0, "replicas that must have a record before it is acknowledged (default: topics.min_insync)")
		a.Bind(sub.Flags(), "replication-factor", "topics.replication_factor")
		a.Bind(sub.Flags(), "min-insync", "topics.min_insync")
	}
	c.AddCommand(plan, apply)
	return c
}

func topicPlan(a *cli.App, cmd *cobra.Command, groups []string) (kafka.Cluster, []kafkaadmin.TopicStep, error) {
	cfg, k, err := connect.OwnCluster(a)
	if err != nil {
		return k, nil, err
	}
	if err := connect.CheckFor(groups); err != nil {
		return k, nil, err
	}
	steps, err := kafkaadmin.PlanTopics(cmd.Context(), k, connect.RequiredTopics(cfg, groups), connect.TopicDefaults(cfg, groups))
	if err != nil {
		return k, nil, connect.TopicFailure(cli.ExitUnavailable, "cannot compare the topics", err)
	}
	return k, steps, nil
}

func printSteps(a *cli.App, steps []kafkaadmin.TopicStep) error {
	if a.Structured() {
		return cli.PrintRows(a, steps)
	}
	if len(steps) == 0 {
		a.Notef("the topics need no change")
	}
	return a.Print(func(w io.Writer) error {
		for _, s := range steps {
			fmt.Fprintln(w, s)
		}
		return nil
	})
}
