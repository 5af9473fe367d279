package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api/weirpb"
)

// clusterService implements weir.v1.ClusterService with a ClusterSource, and with the router for
// the tasks of other processes.
type clusterService struct {
	source ClusterSource
	router *Router // nil: other processes are not asked
	// savepoints is nil if the process takes no savepoints.
	savepoints SavepointSource
	log        zerolog.Logger
}

// GetCluster returns the broker addresses and the names that a producer needs.
func (s *clusterService) GetCluster(ctx context.Context, _ *connect.Request[weirpb.GetClusterRequest]) (*connect.Response[weirpb.GetClusterResponse], error) {
	c, err := s.source.Cluster(ctx)
	if err != nil {
		return nil, sourceError(err, "the cluster's description")
	}
	return connect.NewResponse(c), nil
}

// ListPartitions returns the tasks of all processes, ordered by application, partition and process.
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
	parts = slices.Clone(parts) // the source may keep its slice
	if s.router != nil && !requestMetaOf(ctx).forwarded {
		parts = s.router.complete(ctx, parts)
	}
	slices.SortFunc(parts, func(a, b *weirpb.Partition) int {
		return cmp.Or(cmp.Compare(a.GetApp(), b.GetApp()), cmp.Compare(a.GetPartition(), b.GetPartition()), cmp.Compare(a.GetInstance(), b.GetInstance()))
	})
	return parts, nil
}

// complete adds the tasks of the other processes to those of this process. It also lists each
// partition that no answering process owns, with the reason.
func (r *Router) complete(ctx context.Context, parts []*weirpb.Partition) []*weirpb.Partition {
	list, unknown := r.peers.get(ctx, true)
	var mu sync.Mutex
	silent := map[string]string{} // instance -> why it does not answer
	g := errgroup.Group{}
	for _, p := range list {
		if p.Instance == r.info.Instance {
			continue
		}
		g.Go(func() error {
			theirs, why := r.partitionsOf(ctx, p)
			mu.Lock()
			defer mu.Unlock()
			parts = append(parts, theirs...)
			if why != "" {
				silent[p.Instance] = why
			}
			return nil
		})
	}
	_ = g.Wait() // failures are in silent
	owned := map[int32]bool{}
	for _, p := range parts {
		owned[p.GetPartition()] = owned[p.GetPartition()] || p.GetState() != StateStandby
	}
	for p := range r.info.Partitions {
		if owned[p] {
			continue
		}
		gap := &weirpb.Partition{App: r.info.App, Partition: p, State: StateRemote}
		o, known := owner(list, p)
		switch {
		case known && silent[o.Instance] != "":
			gap.Instance, gap.Reason = o.Instance, silent[o.Instance]
		case known:
			gap.Instance, gap.Reason = o.Instance, fmt.Sprintf("the group assigned it to %s, which has not started it", o.Instance)
		case unknown != nil:
			gap.Reason = fmt.Sprintf("its owner is unknown, because the brokers did not answer: %v", unknown)
		default:
			gap.Reason = "the group has assigned it to no process"
		}
		parts = append(parts, gap)
	}
	return parts
}

// partitionsOf asks p for its tasks. If p does not answer, why has the reason.
func (r *Router) partitionsOf(ctx context.Context, p Peer) (parts []*weirpb.Partition, why string) {
	if p.Endpoint == "" {
		return nil, p.Instance + " has no API address"
	}
	ctx, cancel := context.WithTimeout(ctx, forwardTimeoutStale)
	defer cancel()
	res, err := r.client(p).cluster.ListPartitions(ctx, connect.NewRequest(&weirpb.ListPartitionsRequest{}))
	if err != nil {
		return nil, fmt.Sprintf("%s at %s does not answer: %s", p.Instance, p.Endpoint, message(err))
	}
	return res.Msg.GetPartitions(), ""
}
