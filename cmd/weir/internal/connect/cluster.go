package connect

import (
	"context"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// Cluster returns the configuration and the connection settings of its brokers.
func Cluster(a *cli.App) (*config.Config, kafka.Cluster, error) {
	cfg, err := a.LoadConfig()
	if err != nil {
		return nil, kafka.Cluster{}, err
	}
	k, err := node.Kafka(cfg)
	return cfg, k, NodeFailure(err)
}

// StatePartitions returns the number of partitions of the state of the spend counter of a
// datacentre with layout l; 0 if no spend counter has run.
func StatePartitions(ctx context.Context, k kafka.Cluster, l events.Layout, dc string) (int32, error) {
	n, err := kafkaadmin.StatePartitions(ctx, k, &stream.Processor{App: l.Name(spendcounter.App), Changelog: l.Name(events.SpendTopic(dc)), Partitions: l.Partitions()})
	return n, TopicFailure(cli.ExitUnavailable, "cannot read the partitions of the state", err)
}

// Partitions returns the number of partitions that a topic has.
func Partitions(ctx context.Context, k kafka.Cluster, topic string) (int32, error) {
	ends, err := kafka.EndOffsets(ctx, k, topic)
	if err != nil {
		if f := refusal("cannot read the partitions of topic "+topic, err); f != nil {
			return 0, f
		}
		return 0, cli.Fail(cli.ExitUnavailable, "cannot read the partitions of topic "+topic, err,
			"check --brokers and spend.generation; `weir topics plan` shows what is missing")
	}
	return int32(len(ends[topic])), nil
}
