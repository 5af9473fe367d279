package local

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/offline"
)

// ClusterInfo implements api.ClusterSource and api.SavepointSource with a running spend counter.
type ClusterInfo struct {
	Runtime *processors.Runtime
	Kafka   kafka.Cluster
	DC      string
	Layout  events.Layout
	Version string
	// LeaseRegions are the regions of the lease table, NAME or NAME=URL; none without a table.
	LeaseRegions []string
}

// Cluster implements api.ClusterSource.
func (v *ClusterInfo) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	return &weirpb.GetClusterResponse{
		Brokers: v.Kafka.Brokers, Dc: v.DC, EventsTopic: v.Layout.Name(events.EventsTopic), Partitions: v.Layout.Partitions(), Version: v.Version,
		LeaseRegions: v.LeaseRegions,
	}, nil
}

// Partitions implements api.ClusterSource.
func (v *ClusterInfo) Partitions(context.Context) ([]*weirpb.Partition, error) {
	var out []*weirpb.Partition
	for _, s := range v.Runtime.Status() {
		p := &weirpb.Partition{
			App: s.App, Partition: s.Partition, State: s.State, Reason: s.Reason, OwnerEpoch: s.OwnerEpoch, Sequence: s.Sequence,
			NextOffsets: maps.Clone(s.Next), Lag: &s.Lag, ChangelogNext: s.ChangelogNext, Instance: v.Runtime.Instance(),
		}
		if s.Restore != nil {
			p.Restore = &weirpb.RestoreLeft{Records: s.Restore.Records, Bytes: s.Restore.Bytes, EtaMs: s.Restore.ETA.Milliseconds()}
		}
		out = append(out, p)
	}
	return out, nil
}

// Owned returns the number of partitions that this process owns.
func (v *ClusterInfo) Owned() int {
	n := 0
	for _, s := range v.Runtime.Status() {
		if s.State != api.StateStandby {
			n++
		}
	}
	return n
}

// Savepoint implements api.SavepointSource.
func (v *ClusterInfo) Savepoint(ctx context.Context, name string) (*weirpb.CreateSavepointResponse, error) {
	sp, err := offline.TakeSavepoint(ctx, v.Runtime, name)
	if errors.Is(err, offline.ErrSavepoint) {
		return nil, fmt.Errorf("%w: %w", api.ErrRefused, err)
	}
	if err != nil {
		return nil, err
	}
	return &weirpb.CreateSavepointResponse{App: sp.App, Name: sp.Name, Partitions: int32(len(sp.Partitions))}, nil
}

var (
	_ api.ClusterSource   = (*ClusterInfo)(nil)
	_ api.SavepointSource = (*ClusterInfo)(nil)
)
