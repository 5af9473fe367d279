package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// SpendSource reads committed state. Its methods are called concurrently.
type SpendSource interface {
	// Spend calls fn with every committed Spend record of the campaign (all days and currencies; of one account, or of
	// all if account is empty), each with the AsOf of the snapshot of its partition. The record is fn's to keep; fn does
	// not change the AsOf. An error of fn ends the call and is returned.
	//
	// It returns the AsOf of every partition that it read, also of those without a record: they are what makes "not
	// found" a statement about an offset. If a partition that could hold such a record is not readable here, it returns
	// a *PartitionsError: with an account that is the account's partition, without one it is any.
	Spend(ctx context.Context, campaign, account string, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error)

	// WaitProduced returns once everything produced before the call, to the account's partition or to all of them if
	// account is empty, is folded, committed and visible to Spend. Partitions that are not here: *PartitionsError.
	WaitProduced(ctx context.Context, account string) error

	// Health calls fn with the newest committed SpendHistogram of each shard that this process owns.
	Health(ctx context.Context, fn func(*eventspb.SpendHistogram) error) error
}

// ClusterSource says where things are and how the tasks of this process stand. Its methods are called concurrently.
type ClusterSource interface {
	// Cluster gives broker addresses, datacentre and topic. It does not need the brokers to answer.
	Cluster(ctx context.Context) (*weirpb.GetClusterResponse, error)
	// Partitions gives one entry per task of this process, stopped ones included.
	Partitions(ctx context.Context) ([]*weirpb.Partition, error)
}

// PartitionGap is one partition that a source cannot read.
type PartitionGap struct {
	Partition int32
	State     string // restoring, stopped, elsewhere (another process owns it)
	Reason    string // for a person; may be empty
}

// PartitionsError says which partitions a source cannot read now. The API answers it with Unavailable.
type PartitionsError struct {
	Gaps []PartitionGap // at least one
}

// maxListed bounds the lists inside an error's text.
const maxListed = 12

func (e *PartitionsError) Error() string {
	var b strings.Builder
	for i, g := range e.Gaps {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(e.Gaps)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "partition %d is %s", g.Partition, g.State)
		if g.Reason != "" {
			fmt.Fprintf(&b, " (%s)", g.Reason)
		}
	}
	return b.String()
}
