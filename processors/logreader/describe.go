package logreader

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/kafka"
)

// Topic describes a topic. All is zero if it does not exist.
type Topic struct {
	ID         TopicID
	Partitions int32
	Denied     bool // it may not be described
}

// Describe asks the brokers for topics. The answer has each of them. The error is that of the
// brokers, or that of ctx.
func Describe(ctx context.Context, k kafka.Cluster, topics ...string) (map[string]Topic, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	details, err := kafka.DescribeTopics(ctx, kadm.NewClient(cl), topics...)
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", strings.Join(topics, ", "), err)
	}
	list := map[string]Topic{}
	for name, d := range details {
		denied := errors.Is(d.Err, kerr.TopicAuthorizationFailed)
		if d.Err != nil && !denied && !errors.Is(d.Err, kerr.UnknownTopicOrPartition) {
			return nil, fmt.Errorf("describe topic %s: %w", name, d.Err)
		}
		list[name] = Topic{TopicID(d.ID), int32(len(d.Partitions)), denied}
	}
	return list, nil
}
