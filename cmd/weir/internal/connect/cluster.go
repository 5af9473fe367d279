package connect

import (
	"context"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
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
