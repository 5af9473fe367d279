package api

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/jobqueue/jobpb"
)

// StreamJobs sends jobs to an agent until the wait of the request has passed. jobservice.proto
// lists its errors.
func (s *jobService) StreamJobs(ctx context.Context, req *connect.Request[jobpb.StreamJobsRequest],
	stream *connect.ServerStream[jobpb.StreamJobsResponse],
) error {
	r := req.Msg
	if r.GetSlots() < 1 {
		return invalid("slots is %d: a stream gives as many jobs as the agent has free slots: set it to 1 or more", r.GetSlots())
	}
	end, err := pollEnd(r.GetWaitMs(), s.waitLimit)
	if err != nil {
		return err
	}
	m := &jobpb.PollJobsRequest{
		Queue: r.GetQueue(), Agent: r.GetAgent(), Has: r.GetHas(), Slots: r.GetSlots(), MaxJobs: r.GetMaxJobs(), Policy: r.GetPolicy(),
		DelayMs: r.GetDelayMs(),
	}
	if m.GetMaxJobs() == 0 {
		m.MaxJobs = min(m.GetSlots(), MaxJobs)
	}
	for time.Now().Before(end) {
		m.WaitMs = max(1, time.Until(end).Milliseconds())
		res, err := s.PollJobs(ctx, connect.NewRequest(m))
		if err != nil {
			return err
		}
		if len(res.Msg.GetJobs()) == 0 {
			continue
		}
		if err := stream.Send(&jobpb.StreamJobsResponse{Jobs: res.Msg.GetJobs()}); err != nil {
			s.release(ctx, m, res.Msg.GetJobs())
			return err
		}
	}
	return nil
}
