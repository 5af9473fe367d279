package connect

import (
	"context"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
)

// Cluster is the configuration and how it reaches the brokers.
func Cluster(a *cli.App) (*config.Config, kafka.Cluster, error) {
	cfg, err := a.LoadConfig()
	if err != nil {
		return nil, kafka.Cluster{}, err
	}
	k, err := node.Kafka(cfg)
	return cfg, k, NodeFailure(err)
}

// Partitions asks the brokers how many partitions a topic has.
func Partitions(ctx context.Context, k kafka.Cluster, topic string) (int32, error) {
	ends, err := kafka.EndOffsets(ctx, k, topic)
	if err != nil {
		return 0, cli.Fail(cli.ExitUnavailable, "cannot look at "+topic, err, "check --brokers and spend.generation; `weir topics plan` shows what is missing")
	}
	return int32(len(ends[topic])), nil
}
