package kafkaadmin

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/internal/group"
	"github.com/weirhq/weir/processors/kafka"
)

// UnknownGroupError reports a consumer group that the brokers do not have.
type UnknownGroupError struct {
	Group string
	Known []string // the groups that they have, sorted
}

// Error names the group.
func (e *UnknownGroupError) Error() string {
	return fmt.Sprintf("the brokers have no group %q", e.Group)
}

// GroupMembers returns the number of members of any consumer group; 0 if the brokers do not have
// it.
func GroupMembers(ctx context.Context, k kafka.Cluster, name string) (int, error) {
	cl, err := k.Connect(ctx)
	if err != nil {
		return 0, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	members, err := group.DescribeMembers(ctx, kadm.NewClient(cl), name)
	return len(members), err
}

// GroupInputs returns the topics of any consumer group, sorted: those of which its members have
// partitions, and those with a committed offset. The error is an *UnknownGroupError if there are
// none.
func GroupInputs(ctx context.Context, k kafka.Cluster, group string) (topics []string, err error) {
	cl, err := k.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	g, err := positions(ctx, adm, group)
	if err != nil {
		return nil, err
	}
	for at := range g.owners {
		topics = append(topics, at.topic)
	}
	for topic := range g.committed {
		topics = append(topics, topic)
	}
	slices.Sort(topics)
	if topics = slices.Compact(topics); len(topics) > 0 {
		return topics, nil
	}
	known, err := adm.ListGroups(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the groups: %w", err)
	}
	return nil, &UnknownGroupError{group, known.Groups()}
}
