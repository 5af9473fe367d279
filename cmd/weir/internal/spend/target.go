package spend

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
)

// target is the topic of an import.
type target struct {
	connect.ShardedTopic
	server *api.Client // nil: --brokers was given
}

// importTarget returns the target of --brokers if named, else the target that the server reports.
// topic is events.EventsTopic or events.AdjustmentsTopic.
func importTarget(ctx context.Context, a *cli.App, named bool, topic string) (to target, err error) {
	cfg, k, err := connect.LocalCluster(a)
	if err != nil {
		return to, err
	}
	l := node.SpendCounter(cfg).Layout
	to.ShardedTopic = connect.ShardedTopic{Kafka: k, Name: l.Name(topic), Shards: l.Partitions()}
	if !named {
		client, err := connect.APIClient(a)
		if err != nil {
			return to, err
		}
		to.server = client
		cluster, err := client.GetCluster(ctx)
		if err != nil {
			return to, err
		}
		if err := connect.CheckNamedBrokers(a, cfg, cluster.Brokers); err != nil {
			return to, err
		}
		to.Kafka.Brokers, to.Name, to.Shards = cluster.Brokers, cluster.EventsTopic, cluster.Partitions
		if topic == events.AdjustmentsTopic {
			to.Name = cluster.AdjustmentsTopic
		}
		if to.Name == "" {
			return to, &cli.Failure{
				Code: cli.ExitUnavailable, What: "cannot produce to " + topic,
				Why: "the server does not name its topic: it counts no spend, or is an earlier version",
				Do:  "name a process with the role spendcounter in --server, or the brokers in --brokers",
			}
		}
	}
	state := to.Shards // a server knows the number
	if named {
		if state, err = connect.StatePartitions(ctx, to.Kafka, l, cfg.DC); err != nil {
			return to, err
		}
	}
	return to, to.Check(ctx, a, state)
}
