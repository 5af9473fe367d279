package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcounter"
)

// spendRole is the spend counter of this configuration, as far as brokers know it.
func spendRole(c *config.Config) spendcounter.ProcessorConfig {
	return spendcounter.ProcessorConfig{DC: c.DC, Peers: c.Peers, Layout: events.Layout{Shards: int32(c.Spend.Partitions), Generation: c.Spend.Generation}}
}

// What topics are for.
const (
	forSpend  = "spend"
	forLeases = "leases"
)

// wantedTopics are the topics that this configuration needs for each of what.
func wantedTopics(c *config.Config, what ...string) (topics []events.Topic, d kafkaadmin.Defaults) {
	if slices.Contains(what, forSpend) {
		topics = append(topics, spendRole(c).Topics()...)
	}
	if slices.Contains(what, forLeases) {
		topics = append(topics, leaseTopics(c)...)
	}
	return topics, kafkaadmin.Defaults{ReplicationFactor: int16(c.Topics.ReplicationFactor), MinInsync: int16(c.Topics.MinInSync)}
}

func leaseTopics(c *config.Config) []events.Topic {
	regions, _ := c.Leases.RegionEndpoints()
	return events.LeaseCatalog(regions, int32(c.Leases.Partitions))
}

func forFlag(f *pflag.FlagSet, what *[]string) {
	f.StringSliceVar(what, "for", []string{forSpend}, "what it is for: spend, leases")
}

func checkFor(what []string) error {
	for _, w := range what {
		if w != forSpend && w != forLeases {
			return usage("nothing is there for "+w, "give --for spend, --for leases, or both")
		}
	}
	if len(what) == 0 {
		return usage("--for is empty", "give --for spend, --for leases, or both")
	}
	return nil
}

// topicsCommands returns `weir topics` and `weir lag`.
func topicsCommands(a *app) []*cobra.Command {
	return []*cobra.Command{newTopicsCmd(a), newLagCmd(a)}
}

func newTopicsCmd(a *app) *cobra.Command {
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
			return showSteps(a, steps)
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
			if err := showSteps(a, steps); err != nil {
				return err
			}
			if err := kafkaadmin.Apply(cmd.Context(), k, steps); err != nil {
				return fail(0, "the topics are not as they must be", err, "correct what it names, then apply again")
			}
			return nil
		},
	}
	for _, sub := range []*cobra.Command{plan, apply} {
		sub.Flags().Int("replication-factor", 0, "copies of each partition (default: topics.replication_factor)")
		forFlag(sub.Flags(), &what)
		sub.Flags().Int("min-insync", 0, "copies that must have a record (default: topics.min_insync)")
		a.bind(sub.Flags(), "replication-factor", "topics.replication_factor")
		a.bind(sub.Flags(), "min-insync", "topics.min_insync")
	}
	c.AddCommand(plan, apply)
	return c
}

func topicPlan(a *app, cmd *cobra.Command, what []string) (processors.Kafka, []kafkaadmin.Step, error) {
	cfg, k, err := cluster(a)
	if err != nil {
		return k, nil, err
	}
	if err := checkFor(what); err != nil {
		return k, nil, err
	}
	topics, defaults := wantedTopics(cfg, what...)
	steps, err := kafkaadmin.Plan(cmd.Context(), k, topics, defaults)
	if err != nil {
		return k, nil, fail(exitUnavailable, "cannot compare the topics", err, "check --brokers; `weir doctor` looks closer")
	}
	return k, steps, nil
}

// cluster is the configuration and how it reaches the brokers.
func cluster(a *app) (*config.Config, processors.Kafka, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, processors.Kafka{}, err
	}
	k, err := kafka(cfg)
	return cfg, k, nodeFailure(err)
}

func showSteps(a *app, steps []kafkaadmin.Step) error {
	if a.structured() {
		return printRows(a, steps)
	}
	if len(steps) == 0 {
		a.say("the topics are as they must be")
	}
	for _, s := range steps {
		if _, err := fmt.Fprintln(a.stdout, s); err != nil {
			return fail(exitIO, "cannot write the output", err, "")
		}
	}
	return nil
}
