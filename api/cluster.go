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

// clusterService implements weir.v1.ClusterService with a ClusterSource, and with the applications
// of the process, whose routers know the other processes.
type clusterService struct {
	source ClusterSource
	apps   *apps
	// waiting returns why roles of this process wait.
	waiting func() []string
	log     zerolog.Logger
}

// GetCluster returns the broker addresses, and the names and settings that producers and commands
// need in common with the process.
func (s *clusterService) GetCluster(ctx context.Context,
	_ *connect.Request[weirpb.GetClusterRequest],
) (*connect.Response[weirpb.GetClusterResponse], error) {
	c, err := s.source.Cluster(ctx)
	if err != nil {
		return nil, sourceError(err, "the cluster's description")
	}
	return connect.NewResponse(c), nil
}

// ListPartitions returns the tasks of all processes, ordered by application, partition and process.
func (s *clusterService) ListPartitions(ctx context.Context,
	req *connect.Request[weirpb.ListPartitionsRequest],
) (*connect.Response[weirpb.ListPartitionsResponse], error) {
	res, err := s.partitions(ctx, req.Msg.GetApp())
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

// partitions returns the tasks of an application, "" for all applications of this process.
func (s *clusterService) partitions(ctx context.Context, name string) (*weirpb.ListPartitionsResponse, error) {
	list := s.apps.list
	if name != "" {
		app, err := s.apps.get(ctx, name)
		if err != nil {
			return nil, err
		}
		list = []App{app}
	}
	res := &weirpb.ListPartitionsResponse{}
	for _, why := range s.waiting() {
		w := &weirpb.WaitingRole{Reason: why}
		if len(s.apps.list) > 0 {
			w.Instance = s.apps.list[0].Instance
		}
		res.Waiting = append(res.Waiting, w)
	}
	for _, app := range list {
		own, err := app.Tasks.Tasks(ctx)
		if err != nil {
			return nil, sourceError(err, "the list of partitions of "+app.Name)
		}
		res.Partitions = append(res.Partitions, own...)
	}
	if !requestMetaOf(ctx).forwarded {
		s.complete(ctx, list, name, res)
	}
	slices.SortFunc(res.Partitions, func(a, b *weirpb.Partition) int {
		return cmp.Or(cmp.Compare(a.GetApp(), b.GetApp()), cmp.Compare(a.GetPartition(), b.GetPartition()),
			cmp.Compare(a.GetInstance(), b.GetInstance()))
	})
	slices.SortStableFunc(res.Waiting, func(a, b *weirpb.WaitingRole) int { return cmp.Compare(a.GetInstance(), b.GetInstance()) })
	return res, nil
}

// members are the processes of an application, as the brokers know them.
type members struct {
	list []Peer
	err  error // nil, or why list may be out of date
}

// complete adds the tasks that other processes have of the applications in list, and their roles
// that wait. name is the
// application that the request names, "" for all. It also lists each partition that no answering
// process owns, with the reason. A process that shares several applications is asked once.
func (s *clusterService) complete(ctx context.Context, list []App, name string, res *weirpb.ListPartitionsResponse) {
	ask := list
	if name != "" && list[0].State == nil {
		ask = s.apps.list // a sink has no way to other processes, but those of other applications may run it too
	}
	known := make([]members, len(ask))
	var g errgroup.Group
	for i, app := range ask {
		if app.State == nil {
			continue
		}
		g.Go(func() error {
			known[i].list, known[i].err = app.State.peers.get(ctx, true)
			return nil
		})
	}
	_ = g.Wait() // failures are in known
	var mu sync.Mutex
	silent := map[string]string{} // instance and endpoint -> why it does not answer
	asked := map[string]bool{}
	for i, app := range ask {
		for _, p := range known[i].list {
			if p.Instance == app.Instance || asked[p.Instance+" "+p.Endpoint] {
				continue
			}
			asked[p.Instance+" "+p.Endpoint] = true
			g.Go(func() error {
				theirs, why := app.State.partitionsOf(ctx, p, name)
				mu.Lock()
				defer mu.Unlock()
				res.Waiting = append(res.Waiting, theirs.GetWaiting()...)
				for _, t := range theirs.GetPartitions() {
					if slices.ContainsFunc(list, func(a App) bool { return a.Name == t.GetApp() }) {
						res.Partitions = append(res.Partitions, t)
					}
				}
				if why != "" {
					silent[p.Instance+" "+p.Endpoint] = why
				}
				return nil
			})
		}
	}
	_ = g.Wait() // failures are in silent
	for i, app := range ask {
		if app.State != nil && (name == "" || name == app.Name) {
			res.Partitions = append(res.Partitions, app.missing(res.Partitions, known[i], silent)...)
		}
	}
}

// missing returns an entry for each partition of the application that no process in parts owns.
func (a *App) missing(parts []*weirpb.Partition, known members, silent map[string]string) (gaps []*weirpb.Partition) {
	owned := map[int32]bool{}
	for _, p := range parts {
		if p.GetApp() == a.Name && p.GetState() != StateStandby {
			owned[p.GetPartition()] = true
		}
	}
	for p := range a.State.state.Info().Partitions {
		if owned[p] {
			continue
		}
		gap := &weirpb.Partition{App: a.Name, Partition: p, State: StateRemote}
		o, has := owner(known.list, p)
		switch why := silent[o.Instance+" "+o.Endpoint]; {
		case has && why != "":
			gap.Instance, gap.Reason = o.Instance, why
		case has:
			gap.Instance, gap.Reason = o.Instance, fmt.Sprintf("the group assigned it to %s, which has not started it", o.Instance)
		case known.err != nil:
			gap.Reason = fmt.Sprintf("its owner is unknown, because the brokers did not answer: %v", known.err)
		default:
			gap.Reason = "the group has assigned it to no process"
		}
		gaps = append(gaps, gap)
	}
	return gaps
}

// partitionsOf asks p for its tasks of an application, "" for all, and its roles that wait. If p
// does not answer, why has the reason.
func (r *Router) partitionsOf(ctx context.Context, p Peer, app string) (parts *weirpb.ListPartitionsResponse, why string) {
	if p.Endpoint == "" {
		return nil, p.Instance + " has no API address"
	}
	ctx, cancel := context.WithTimeout(ctx, forwardTimeoutStale)
	defer cancel()
	res, err := r.client(p).cluster.ListPartitions(ctx, connect.NewRequest(&weirpb.ListPartitionsRequest{App: app}))
	if err != nil {
		return nil, fmt.Sprintf("%s at %s does not answer: %s", p.Instance, p.Endpoint, message(err))
	}
	return res.Msg, ""
}
