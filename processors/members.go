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

// Member is a member of an application's group since the last rebalance: one worker of a process.
type Member struct {
	ID         string
	Instance   string            // of the process
	Endpoint   string            // address of the process's API, host:port; empty if it has none
	Partitions []int32           // that the worker folds, in order
	Standbys   []int32           // that the process keeps warm, in order; listed at the first member of the process
	Settings   map[string]string // stream.Processor.Settings of the process
}

// Members asks the brokers for the members of app's group. It returns none if no process runs. The
// members of a group of another program, such as a sink, have ID and Instance alone.
func Members(ctx context.Context, k kafka.Cluster, app string) ([]Member, error) {
	cl, err := k.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	return describeMembers(ctx, kadm.NewClient(cl), app)
}

func describeMembers(ctx context.Context, adm *kadm.Client, app string) ([]Member, error) {
	members, foreign, err := group.Describe(ctx, adm, app)
	if err != nil {
		return nil, err
	}
	var out []Member
	for _, g := range members {
		if foreign {
			m := Member{ID: g.MemberID}
			if g.InstanceID != nil {
				m.Instance = *g.InstanceID
			}
			out = append(out, m)
			continue
		}
		metadata, err := decodeMember(g)
		if err != nil {
			return nil, err
		}
		m := Member{ID: g.MemberID, Instance: metadata.GetInstance(), Endpoint: metadata.GetEndpoint(), Settings: metadata.GetSettings()}
		if has, ok := g.Assigned.AsConsumer(); ok {
			d, err := changelogpb.Decode(has.UserData, &changelogpb.WorkerAssignment{}, "assignment of member "+g.MemberID)
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

// decodeMember decodes the metadata with which a member joined, nil for a member of another kind of
// group.
func decodeMember(g kadm.DescribedGroupMember) (*changelogpb.Member, error) {
	join, ok := g.Join.AsConsumer()
	if !ok {
		return nil, nil
	}
	return changelogpb.Decode(join.UserData, &changelogpb.Member{}, "metadata of member "+g.MemberID)
}
