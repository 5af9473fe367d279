package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/jobqueue"
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
	end := time.Now()
	if m.GetWaitMs() != 0 {
		if end, err = pollEnd(m.GetWaitMs(), s.waitLimit); err != nil {
			return nil, err
		}
		var done func()
		if ctx, done, err = s.parking.park(ctx); err != nil {
			return nil, err
		}
		defer done()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	states, failed := gather(ctx, parts, func(ctx context.Context, p int32, at []int) ([]jobpb.JobState, error) {
		res, err := shard[jobpb.GetJobStatesResponse]{
			partition: p, limit: time.Until(end) + forwardTimeout,
			local: func(ctx context.Context) (*jobpb.GetJobStatesResponse, error) {
				states, err := s.awaitStates(ctx, m.GetQueue(), chosen(parts.ids, at), end)
				return &jobpb.GetJobStatesResponse{States: states}, err
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.GetJobStatesResponse], error) {
				one := &jobpb.GetJobStatesRequest{Queue: m.GetQueue(), Ids: chosen(m.GetIds(), at)}
				if m.GetWaitMs() != 0 {
					one.WaitMs = max(1, time.Until(end).Milliseconds())
				}
				return c.GetJobStates(ctx, connect.NewRequest(one))
			},
		}.run(ctx, s)
		if err != nil {
			cancel(err) // the others do not wait for long
		}
		return res.GetStates(), err
	})
	if len(failed) > 0 {
		err := jobError(context.Cause(ctx), fmt.Sprintf("jobs of queue %q", m.GetQueue()))
		return nil, parkedError(ctx, err)
	}
	return connect.NewResponse(&jobpb.GetJobStatesResponse{States: states}), nil
}

// awaitStates returns the states of jobs of one partition of this process: when each has ended, or
// at a time.
func (s *jobService) awaitStates(ctx context.Context, queue string, ids []JobID, end time.Time) ([]jobpb.JobState, error) {
	timer := time.NewTimer(time.Until(end))
	defer timer.Stop()
	left := make([]int, len(ids)) // positions of those that have not ended
	for i := range left {
		left[i] = i
	}
	states := make([]jobpb.JobState, len(ids))
	for {
		shown, err := s.source.Shown(ids[0].Partition)
		if err != nil {
			return nil, err
		}
		changed, applied := shown.Changed(), shown.Applied()
		view, err := shown.States(queue)
		if err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(left, func(i int) bool {
			x := view.State(ids[i].Number)
			states[i] = jobpb.JobState(x)
			return x.Terminal() || x == jobqueue.None && ids[i].Number < applied
		})
		if len(left) == 0 || !time.Now().Before(end) {
			return states, nil
		}
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
