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
	if err := s.available(); err != nil {
		return err
	}
	r := req.Msg
	if r.GetSlots() < 1 {
		return invalid("slots is %d: a stream gives as many jobs as the agent has free slots: set it to 1 or more", r.GetSlots())
	}
	m := &jobpb.PollJobsRequest{
		Queue: r.GetQueue(), Agent: r.GetAgent(), Has: r.GetHas(), Slots: r.GetSlots(), MaxJobs: r.GetMaxJobs(), Policy: r.GetPolicy(),
		DelayMs: r.GetDelayMs(), WaitMs: r.GetWaitMs(),
	}
	if m.GetMaxJobs() == 0 {
		m.MaxJobs = min(m.GetSlots(), MaxJobs)
	}
	p, err := s.newJobPoll(ctx, m)
	if err != nil {
		return err
	}
	ctx, done, err := s.parking.park(ctx)
	if err != nil {
		return err
	}
	defer done()
	for time.Now().Before(p.end) {
		res, err := s.pollAll(ctx, p)
		if err != nil {
			return p.failed(ctx, err)
		}
		if len(res.GetJobs()) == 0 {
			continue
		}
		if err := stream.Send(&jobpb.StreamJobsResponse{Jobs: res.GetJobs()}); err != nil {
			s.release(ctx, m, res.GetJobs())
			return err
		}
	}
	return nil
}
