package logreader

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/kafka"
)

// TopicIDOf asks the brokers for the id of a topic. The id is zero if the topic does not exist. The
// error is that of the brokers, or that of ctx.
func TopicIDOf(ctx context.Context, k kafka.Cluster, topic string) (TopicID, error) {
	cl, err := k.Client()
	if err != nil {
		return TopicID{}, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	list, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	if err != nil {
		return TopicID{}, fmt.Errorf("describe topic %s: %w", topic, err)
	}
	return TopicID(list[topic].ID), nil
}
