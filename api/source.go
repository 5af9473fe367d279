package api

import (
	"context"
	"errors"
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

// ClusterSource describes the cluster. Its method is called concurrently.
type ClusterSource interface {
	// Cluster returns broker addresses, datacentre and topic. It does not contact the brokers.
	Cluster(ctx context.Context) (*weirpb.GetClusterResponse, error)
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
