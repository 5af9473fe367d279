package api

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/jobqueue/jobpb"
)

// StreamJobs sends jobs to an agent until the wait of the request has passed. jobservice.proto
// lists its errors.
func (s *jobService) StreamJobs(ctx context.Context, req *connect.Request[jobpb.PollJobsRequest],
	stream *connect.ServerStream[jobpb.PollJobsResponse],
) error {
	m := proto.CloneOf(req.Msg)
	if m.GetSlots() < 1 {
		return invalid("slots is %d: a stream gives as many jobs as the agent has free slots: set it to 1 or more", m.GetSlots())
	}
	if m.Partition != nil {
		return forwardedOnly(ctx)
	}
	if m.GetMaxJobs() == 0 {
		m.MaxJobs = min(m.GetSlots(), MaxJobs)
	}
	end, err := pollEnd(m.GetWaitMs(), s.waitLimit)
	if err != nil {
		return err
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
		if err := stream.Send(res.Msg); err != nil {
			s.release(ctx, m, res.Msg.GetJobs())
			return err
		}
	}
	return nil
}
