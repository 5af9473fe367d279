package spend

import (
	"context"
	"fmt"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// target is the topic of an import, its brokers and its partitions.
type target struct {
	kafka  kafka.Cluster
	topic  string
	shards int32
	server *api.Client // nil: --brokers was given
}

// importTarget returns the target of --brokers if named, else the target that the server reports.
// topic is events.EventsTopic or events.AdjustmentsTopic.
func importTarget(ctx context.Context, a *cli.App, named bool, topic string) (to target, err error) {
	cfg, k, err := connect.Cluster(a)
	if err != nil {
		return to, err
	}
	l := node.SpendCounter(cfg).Layout
	to = target{kafka: k, topic: l.Name(topic), shards: l.Partitions()}
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
		to.kafka.Brokers, to.topic, to.shards = cluster.Brokers, cluster.EventsTopic, cluster.Partitions
		if topic == events.AdjustmentsTopic {
			to.topic = cluster.AdjustmentsTopic
		}
		if to.topic == "" {
			return to, &cli.Failure{
				Code: cli.ExitUnavailable, What: "cannot produce to " + topic, Why: "the server does not name its topic: it counts no spend, or is an earlier version",
				Do: "name a process with the role spendcounter in --server, or the brokers in --brokers",
			}
		}
	}
	state := to.shards // a server knows the number
	if named {
		if state, err = connect.StatePartitions(ctx, to.kafka, l, cfg.DC); err != nil {
			return to, err
		}
	}
	return to, to.checkPartitions(ctx, a, state)
}

// checkPartitions returns a failure if records would go to partitions of other accounts, and notes
// partitions that were added to the topic. state is the number of partitions of the counter's
// state; 0: no counter has run.
func (to target) checkPartitions(ctx context.Context, a *cli.App, state int32) error {
	has, err := connect.Partitions(ctx, to.kafka, to.topic)
	if err != nil {
		return err
	}
	right, why := state, fmt.Sprintf("the state of the spend counter has %d partitions", state)
	if state == 0 || has < state {
		right, why = has, fmt.Sprintf("the topic has %d partitions", has)
	}
	if right != to.shards {
		return &cli.Failure{
			Code: cli.ExitConfig, What: "cannot produce to " + to.topic,
			Why: fmt.Sprintf("%s, and the configuration %d: the spend counter would reject the records", why, to.shards),
			Do:  fmt.Sprintf("set spend.partitions to %d, or spend.generation to the generation of the topics with %d partitions", right, to.shards),
		}
	}
	if has > right {
		added := kafkaadmin.AddedPartitions{Topic: to.topic, State: right, Has: has}
		a.Notef("%s: %s", added, added.Remedy())
	}
	return nil
}
