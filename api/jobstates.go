package api

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
)

// MaxJobStates is the maximum number of ids of GetJobStates.
const MaxJobStates = 10_000

// GetJobStates returns the states of many jobs, as they are committed, from memory.
func (s *jobService) GetJobStates(ctx context.Context,
	req *connect.Request[jobpb.GetJobStatesRequest],
) (*connect.Response[jobpb.GetJobStatesResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	parts, err := s.splitMost(MaxJobStates, len(m.GetIds()), func(i int) string { return m.GetIds()[i] })
	if err == nil {
		err = s.checkIDs(ctx, m.GetQueue(), parts)
	}
	if err != nil {
		return nil, err
	}
	states, failed := gather(ctx, parts, func(ctx context.Context, p int32, at []int) ([]jobpb.JobState, error) {
		res, err := shard[jobpb.GetJobStatesResponse]{
			partition: p,
			local: func(context.Context) (*jobpb.GetJobStatesResponse, error) {
				shown, err := s.source.Shown(p)
				if err != nil {
					return nil, err
				}
				view, err := shown.States(m.GetQueue())
				if err != nil {
					return nil, err
				}
				r := &jobpb.GetJobStatesResponse{States: make([]jobpb.JobState, len(at))}
				for k, i := range at {
					r.States[k] = jobpb.JobState(view.State(parts.ids[i].Number))
				}
				return r, nil
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.GetJobStatesResponse], error) {
				return c.GetJobStates(ctx, connect.NewRequest(&jobpb.GetJobStatesRequest{Queue: m.GetQueue(), Ids: chosen(m.GetIds(), at)}))
			},
		}.run(ctx, s)
		return res.GetStates(), err
	})
	if err := failed.first(); err != nil {
		return nil, jobError(err, fmt.Sprintf("jobs of queue %q", m.GetQueue()))
	}
	return connect.NewResponse(&jobpb.GetJobStatesResponse{States: states}), nil
}
