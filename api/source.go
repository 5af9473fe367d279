package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// SpendSource reads committed state of all processes. Its methods are called concurrently.
type SpendSource interface {
	// Spend calls fn with every committed Spend record of the campaign (all days and currencies),
	// each with the AsOf of its partition. Calls of fn do not overlap. All records of a partition
	// come from one snapshot. fn may keep the record; it must not change the AsOf. An error of fn
	// ends the call and is returned.
	//
	// Spend returns the AsOf of every partition that it read, including partitions without a
	// record: with them, "not found" is a statement about an offset. If a partition that could hold
	// such a record cannot be read, Spend returns a *PartitionsError. With an account that is the
	// account's partition; without an account it is any partition.
	Spend(ctx context.Context, q SpendQuery, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error)

	// WaitProduced returns once everything that was produced before the call is folded, committed
	// and visible to Spend: in the account's partition, or in all partitions if account is empty.
	// If partitions cannot be read, it returns a *PartitionsError.
	WaitProduced(ctx context.Context, account string) error

	// Health calls fn with the newest committed SpendHistogram of each shard that can be read. If
	// there are other shards, it then returns a *PartitionsError with them.
	Health(ctx context.Context, fn func(*eventspb.SpendHistogram) error) error
}

// SpendQuery selects spend records.
type SpendQuery struct {
	Campaign     string
	Account      string        // empty: any
	MaxStaleness time.Duration // of a standby; 0: only owners
}

// ClusterSource describes the cluster and the tasks of this process. Its methods are called
// concurrently.
type ClusterSource interface {
	// Cluster returns broker addresses, datacentre and topic. It does not contact the brokers.
	Cluster(ctx context.Context) (*weirpb.GetClusterResponse, error)
	// Partitions returns one entry per task of this process, including stopped tasks and standbys.
	Partitions(ctx context.Context) ([]*weirpb.Partition, error)
}

// SavepointSource takes savepoints. Its methods are called concurrently.
type SavepointSource interface {
	// Savepoint takes a savepoint of the committed state of this process. It returns ErrRefused if
	// the name exists or is invalid.
	Savepoint(ctx context.Context, name string) (*weirpb.CreateSavepointResponse, error)
}

// ErrRefused means that a request is not possible in the current state. The error that wraps it
// states why and what to do. The API answers with FailedPrecondition.
var ErrRefused = errors.New("refused")

// PartitionGap is a partition that a source cannot read.
type PartitionGap struct {
	Partition int32
	State     string // barrier, restoring, stopped, standby, or StateRemote
	Reason    string // may be empty
}

// States of a partition that answers depend on.
const (
	StateStandby = "standby"   // another process owns the partition, this process follows it
	StateRemote  = "elsewhere" // this process does not have the partition
)

// PartitionsError lists the partitions that a source cannot read now. The API answers with
// Unavailable.
type PartitionsError struct {
	Gaps []PartitionGap // at least one
}

// Bounds of the text of an error.
const (
	maxListed = 12 // names, partitions
	maxKinds  = 4  // groups of unreadable partitions, each with its state and reason
)

// Error lists the partitions, grouped by state and reason.
func (e *PartitionsError) Error() string {
	var order []PartitionGap // one gap of each group
	numbers := map[PartitionGap][]string{}
	for _, g := range e.Gaps {
		kind := PartitionGap{State: g.State, Reason: g.Reason}
		if numbers[kind] == nil {
			order = append(order, kind)
		}
		numbers[kind] = append(numbers[kind], fmt.Sprint(g.Partition))
	}
	var b strings.Builder
	for i, kind := range order {
		if i == maxKinds {
			fmt.Fprintf(&b, ", and partitions with %d more reasons", len(order)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		switch list := numbers[kind]; {
		case len(list) == 1:
			fmt.Fprintf(&b, "partition %s is %s", list[0], kind.State)
		case len(list) <= maxListed:
			fmt.Fprintf(&b, "partitions %s are %s", strings.Join(list, ", "), kind.State)
		default:
			fmt.Fprintf(&b, "partitions %s and %d more are %s", strings.Join(list[:maxListed], ", "), len(list)-maxListed, kind.State)
		}
		if kind.Reason != "" {
			fmt.Fprintf(&b, " (%s)", kind.Reason)
		}
	}
	return b.String()
}
