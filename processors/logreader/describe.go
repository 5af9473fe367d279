package logreader

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/kafka"
)

// Describe asks the brokers for the id of a topic and the number of its partitions. Both are zero
// if the topic does not exist, or may not be described. The error is that of the brokers, or that
// of ctx.
func Describe(ctx context.Context, k kafka.Cluster, topic string) (id TopicID, partitions int32, err error) {
	cl, err := k.Client()
	if err != nil {
		return id, 0, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	list, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	if err != nil {
		return id, 0, fmt.Errorf("describe topic %s: %w", topic, err)
	}
	return TopicID(list[topic].ID), int32(len(list[topic].Partitions)), nil
}
