package processors

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/group"
	"github.com/weirhq/weir/processors/kafka"
)

// Member is one session of an application's group, as the group has it since its last rebalance.
type Member struct {
	ID         string
	Instance   string  // of the process
	Endpoint   string  // where the process's API is, host:port; empty if it has none
	Partitions []int32 // that it folds, in order
	Standbys   []int32 // that its process keeps warm, in order; the first member of a process has them
}

// Members asks the brokers who shares the partitions of app; none if nobody runs.
func Members(ctx context.Context, k kafka.Cluster, app string) ([]Member, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	members, err := group.DescribeMembers(ctx, kadm.NewClient(cl), app)
	if err != nil {
		return nil, err
	}
	var out []Member
	for _, g := range members {
		m := Member{ID: g.MemberID}
		if join, ok := g.Join.AsConsumer(); ok {
			says, err := changelogpb.Decode(join.UserData, &changelogpb.Member{}, "what member "+g.MemberID+" says")
			if err != nil {
				return nil, err
			}
			m.Instance, m.Endpoint = says.Instance, says.Endpoint
		}
		if has, ok := g.Assigned.AsConsumer(); ok {
			d, err := changelogpb.Decode(has.UserData, &changelogpb.WorkerAssignment{}, "the duty of member "+g.MemberID)
			if err != nil {
				return nil, err
			}
			m.Standbys = d.Standbys
			for _, t := range has.Topics {
				m.Partitions = append(m.Partitions, t.Partitions...)
			}
			slices.Sort(m.Partitions)
			m.Partitions = slices.Compact(m.Partitions)
		}
		out = append(out, m)
	}
	return out, nil
}
