package topics

import (
	"fmt"

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
	var what []string
	c := &cobra.Command{Use: "topics", Short: "Compares the topics with those that weir needs, and makes the difference good"}
	plan := &cobra.Command{
		Use:   "plan",
		Short: "Says what apply would do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, steps, err := topicPlan(a, cmd, what)
			if err != nil {
				return err
			}
			return printSteps(a, steps)
		},
	}
	apply := &cobra.Command{
		Use:   "apply",
		Short: "Creates missing topics and corrects settings; never removes a topic or changes its partitions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, steps, err := topicPlan(a, cmd, what)
			if err != nil {
				return err
			}
			if err := printSteps(a, steps); err != nil {
				return err
			}
			if err := kafkaadmin.Apply(cmd.Context(), k, steps); err != nil {
				return cli.Fail(0, "the topics are not as they must be", err, "correct what it names, then apply again")
			}
			return nil
		},
	}
	for _, sub := range []*cobra.Command{plan, apply} {
		sub.Flags().Int("replication-factor", 0, "copies of each partition (default: topics.replication_factor)")
		connect.ForFlag(sub.Flags(), &what)
		sub.Flags().Int("min-insync", 0, "copies that must have a record (default: topics.min_insync)")
		a.Bind(sub.Flags(), "replication-factor", "topics.replication_factor")
		a.Bind(sub.Flags(), "min-insync", "topics.min_insync")
	}
	c.AddCommand(plan, apply)
	return c
}

func topicPlan(a *cli.App, cmd *cobra.Command, what []string) (kafka.Cluster, []kafkaadmin.Step, error) {
	cfg, k, err := connect.Cluster(a)
	if err != nil {
		return k, nil, err
	}
	if err := connect.CheckFor(what); err != nil {
		return k, nil, err
	}
	topics, defaults := connect.RequiredTopics(cfg, what...)
	steps, err := kafkaadmin.Plan(cmd.Context(), k, topics, defaults)
	if err != nil {
		return k, nil, cli.Fail(cli.ExitUnavailable, "cannot compare the topics", err, "check --brokers; `weir doctor` looks closer")
	}
	return k, steps, nil
}

func printSteps(a *cli.App, steps []kafkaadmin.Step) error {
	if a.Structured() {
		return cli.PrintRows(a, steps)
	}
	if len(steps) == 0 {
		a.Notef("the topics are as they must be")
	}
	for _, s := range steps {
		if _, err := fmt.Fprintln(a.Stdout, s); err != nil {
			return cli.Fail(cli.ExitIO, "cannot write the output", err, "")
		}
	}
	return nil
}
