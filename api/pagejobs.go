package api

import (
	"cmp"
	"context"
	"slices"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// signalsAtOnce is the number of queues whose signals are read at the same time for a page.
const signalsAtOnce = 4

// pageJobs returns the job queues for the page: those with alarms first, then those in which most
// jobs wait.
func (s *jobService) pageJobs(ctx context.Context) (out page.Jobs, err error) {
	res, err := s.ListQueues(ctx, connect.NewRequest(&jobpb.ListQueuesRequest{}))
	if err != nil {
		return out, err
	}
	list := res.Msg.GetQueues()
	slices.SortStableFunc(list, func(a, b *jobpb.Queue) int {
		return cmp.Or(cmp.Compare(b.GetAlarms(), a.GetAlarms()), cmp.Compare(b.GetJobs().GetPending(), a.GetJobs().GetPending()))
	})
	out = page.Jobs{Unread: res.Msg.GetUnread(), Hidden: max(0, len(list)-page.MaxQueues)}
	out.Queues = make([]page.Queue, min(len(list), page.MaxQueues))
	var g errgroup.Group
	g.SetLimit(signalsAtOnce)
	for i := range out.Queues {
		out.Queues[i].Queue = list[i]
		g.Go(func() error {
			if res, err := s.GetSignals(ctx, connect.NewRequest(&jobpb.GetSignalsRequest{Queue: list[i].GetName()})); err == nil {
				out.Queues[i].Signals = res.Msg
			}
			return nil
		})
	}
	return out, g.Wait()
}
