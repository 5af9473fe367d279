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

// SpendSource reads committed state, of whichever process has it. Its methods are called concurrently.
type SpendSource interface {
	// Spend calls fn with every committed Spend record of the campaign (all days and currencies), each with the AsOf of
	// its partition as of one moment; one call of fn at a time. The record is fn's to keep; fn does not change the AsOf.
	// An error of fn ends the call and is returned.
	//
	// It returns the AsOf of every partition that it read, also of those without a record: they are what makes "not
	// found" a statement about an offset. If a partition that could hold such a record is not readable, it returns
	// a *PartitionsError: with an account that is the account's partition, without one it is any.
	Spend(ctx context.Context, q SpendQuery, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error)

	// WaitProduced returns once everything produced before the call, to the account's partition or to all of them if
	// account is empty, is folded, committed and visible to Spend. Partitions that are not readable: *PartitionsError.
	WaitProduced(ctx context.Context, account string) error

	// Health calls fn with the newest committed SpendHistogram of each shard that can be read, and then returns a
	// *PartitionsError with the others, if there are any.
	Health(ctx context.Context, fn func(*eventspb.SpendHistogram) error) error
}

// SpendQuery is what to look for.
type SpendQuery struct {
	Campaign     string
	Account      string        // empty: any
	MaxStaleness time.Duration // of a standby; 0: only owners
}

// ClusterSource says where things are and how the tasks of this process stand. Its methods are called concurrently.
type ClusterSource interface {
	// Cluster gives broker addresses, datacentre and topic. It does not need the brokers to answer.
	Cluster(ctx context.Context) (*weirpb.GetClusterResponse, error)
	// Partitions gives one entry per task of this process, stopped ones and standbys included.
	Partitions(ctx context.Context) ([]*weirpb.Partition, error)
}

// SavepointSource takes savepoints. Its methods are called concurrently.
type SavepointSource interface {
	// Savepoint takes one of what this process has committed. ErrRefused for a name that is taken or not legal.
	Savepoint(ctx context.Context, name string) (*weirpb.CreateSavepointResponse, error)
}

// ErrRefused says that what was asked for cannot be done as things are; what wraps it says why, and what to do. The API
// answers it with FailedPrecondition.
var ErrRefused = errors.New("refused")

// PartitionGap is one partition that a source cannot read.
type PartitionGap struct {
	Partition int32
	State     string // barrier, restoring, stopped, standby, elsewhere (another process owns it)
	Reason    string // for a person; may be empty
}

// States of a partition that the answers depend on.
const (
	StateStandby = "standby"   // another process owns it, this one follows
	StateRemote  = "elsewhere" // this process does not have it
)

// PartitionsError says which partitions a source cannot read now. The API answers it with Unavailable.
type PartitionsError struct {
	Gaps []PartitionGap // at least one
}

// What an error's text lists at most.
const (
	maxListed = 12 // names, partitions
	maxKinds  = 4  // of partitions that cannot be read, each with its reason
)

// Error lists the partitions, those of one state and reason together.
func (e *PartitionsError) Error() string {
	var order []PartitionGap // one of each kind
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
			fmt.Fprintf(&b, ", and others for %d more reasons", len(order)-i)
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
