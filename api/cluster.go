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

// clusterService answers weir.v1.ClusterService from a ClusterSource and, through the router, from those of others.
type clusterService struct {
	source ClusterSource
	router *Router // nil: nobody else is asked
	// savepoints is nil where none are taken.
	savepoints SavepointSource
	log        zerolog.Logger
}

// GetCluster gives the broker addresses and the names that a producer needs.
func (s *clusterService) GetCluster(ctx context.Context, _ *connect.Request[weirpb.GetClusterRequest]) (*connect.Response[weirpb.GetClusterResponse], error) {
	c, err := s.source.Cluster(ctx)
	if err != nil {
		return nil, sourceError(err, "the cluster's description")
	}
	return connect.NewResponse(c), nil
}

// ListPartitions gives the tasks of all processes, ordered by application, partition and process.
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
	if s.router != nil && !requestMetaOf(ctx).forwarded {
		parts = s.router.complete(ctx, parts)
	}
	slices.SortFunc(parts, func(a, b *weirpb.Partition) int {
		return cmp.Or(cmp.Compare(a.GetApp(), b.GetApp()), cmp.Compare(a.GetPartition(), b.GetPartition()), cmp.Compare(a.GetInstance(), b.GetInstance()))
	})
	return parts, nil
}

// complete adds the tasks of the other processes to ours. A partition that nobody who answers owns is in the list too, with
// the reason.
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
	_ = g.Wait() // what failed is in silent
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
			gap.Instance, gap.Reason = o.Instance, fmt.Sprintf("the group gives it to %s, which has not begun with it", o.Instance)
		case unknown != nil:
			gap.Reason = fmt.Sprintf("the brokers do not say who has it: %v", unknown)
		default:
			gap.Reason = "no process of the group has it"
		}
		parts = append(parts, gap)
	}
	return parts
}

// partitionsOf asks p for its own tasks.
func (r *Router) partitionsOf(ctx context.Context, p Peer) (parts []*weirpb.Partition, why string) {
	if p.Endpoint == "" {
		return nil, p.Instance + " does not say where its API is"
	}
	ctx, cancel := context.WithTimeout(ctx, forwardTimeoutStale)
	defer cancel()
	res, err := r.client(p).cluster.ListPartitions(ctx, connect.NewRequest(&weirpb.ListPartitionsRequest{}))
	if err != nil {
		return nil, fmt.Sprintf("%s at %s does not answer: %s", p.Instance, p.Endpoint, message(err))
	}
	return res.Msg.GetPartitions(), ""
}
