package api

import (
	"cmp"
	"context"
	"slices"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// clusterService answers weir.v1.ClusterService from a ClusterSource.
type clusterService struct {
	source ClusterSource
}

// GetCluster gives the broker addresses and the names that a producer needs.
func (s *clusterService) GetCluster(ctx context.Context, _ *connect.Request[weirpb.GetClusterRequest]) (*connect.Response[weirpb.GetClusterResponse], error) {
	c, err := s.source.Cluster(ctx)
	if err != nil {
		return nil, sourceError(err, "the cluster's description")
	}
	return connect.NewResponse(c), nil
}

// ListPartitions gives the tasks of this process, ordered by application and partition.
func (s *clusterService) ListPartitions(ctx context.Context, _ *connect.Request[weirpb.ListPartitionsRequest]) (*connect.Response[weirpb.ListPartitionsResponse], error) {
	parts, err := s.partitions(ctx)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&weirpb.ListPartitionsResponse{Partitions: parts}), nil
}

func (s *clusterService) partitions(ctx context.Context) ([]*weirpb.Partition, error) {
	parts, err := s.source.Partitions(ctx)
	if err != nil {
		return nil, sourceError(err, "the list of partitions")
	}
	parts = slices.Clone(parts) // the source may keep its own
	slices.SortFunc(parts, func(a, b *weirpb.Partition) int {
		return cmp.Or(cmp.Compare(a.GetApp(), b.GetApp()), cmp.Compare(a.GetPartition(), b.GetPartition()))
	})
	return parts, nil
}
