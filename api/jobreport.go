package api

import (
	"context"
	"fmt"
	"sync"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
	"github.com/weirhq/weir/jobqueue/queues"
)

// HeartbeatJobs renews leases.
func (s *jobService) HeartbeatJobs(ctx context.Context,
	req *connect.Request[jobpb.HeartbeatJobsRequest],
) (*connect.Response[jobpb.HeartbeatJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	if m.Partition != nil {
		if err := forwardedOnly(ctx); err != nil {
			return nil, err
		}
	}
	parts, err := s.heard(ctx, m)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	out := &jobpb.HeartbeatJobsResponse{}
	failed := eachPartition(ctx, parts.partitions, func(ctx context.Context, p int32) error {
		stop, err := s.heartbeat(ctx, m, p, parts)
		mu.Lock()
		defer mu.Unlock()
		out.Stop = append(out.Stop, stop...)
		return err
	})
	for p := range failed {
		if parts.positions[p] == nil { // no job of the agent is there
			delete(failed, p)
		}
	}
	if len(failed) > 0 && len(failed) == len(parts.positions) {
		return nil, failed.first()
	}
	if err := failed.first(); err != nil {
		out.Unread = err.Error()
	}
	return connect.NewResponse(out), nil
}

// heard returns the partitions that get a heartbeat: all of the queue, because the agent is down in
// a partition that has not heard of it for two leases.
func (s *jobService) heard(ctx context.Context, m *jobpb.HeartbeatJobsRequest) (parts byPartition, err error) {
	if m.Partition != nil && len(m.GetJobs()) == 0 {
		return byPartition{partitions: []int32{m.GetPartition()}}, nil
	}
	parts, err = s.split(len(m.GetJobs()), func(i int) string { return m.GetJobs()[i].GetId() })
	if err != nil || m.Partition != nil {
		return parts, err
	}
	all, err := s.partitionsOf(ctx, m.GetQueue())
	for _, p := range all {
		if parts.positions[p] == nil {
			parts.partitions = append(parts.partitions, p)
		}
	}
	return parts, err
}

// heartbeat renews the leases of jobs of one partition, and returns those that the agent must stop.
func (s *jobService) heartbeat(ctx context.Context, m *jobpb.HeartbeatJobsRequest, p int32,
	parts byPartition,
) ([]*jobpb.JobAttempt, error) {
	at := parts.positions[p]
	res, err := shard[jobpb.HeartbeatJobsResponse]{
		partition: p,
		local: func(ctx context.Context) (*jobpb.HeartbeatJobsResponse, error) {
			var held []jobqueue.Held
			var progress []string
			for _, i := range at {
				held = append(held, jobqueue.Held{ID: parts.ids[i].Number, Attempt: attempt(m.GetJobs()[i].GetAttempt())})
				progress = append(progress, m.GetJobs()[i].GetProgress())
			}
			r := &jobpb.HeartbeatJobsResponse{}
			err := s.source.Ask(ctx, p, false, func(q *queues.Shard) error {
				stop, err := q.Heartbeat(m.GetQueue(), m.GetAgent(), held, progress)
				for _, h := range stop {
					r.Stop = append(r.Stop, &jobpb.JobAttempt{Id: JobID{p, h.ID}.String(), Attempt: uint32(h.Attempt)})
				}
				return err
			})
			return r, err
		},
		remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.HeartbeatJobsResponse], error) {
			return c.HeartbeatJobs(ctx, connect.NewRequest(&jobpb.HeartbeatJobsRequest{
				Queue: m.GetQueue(), Agent: m.GetAgent(), Jobs: chosen(m.GetJobs(), at), Partition: &p,
			}))
		},
	}.run(ctx, s)
	if err != nil {
		err = jobError(err, fmt.Sprintf("a heartbeat of agent %.100q to queue %.100q in partition %d", m.GetAgent(), m.GetQueue(), p))
	}
	return res.GetStop(), err
}

// attempt returns the number of an attempt, 0 for one that cannot be.
func attempt(n uint32) uint8 {
	if n > 255 {
		return 0
	}
	return uint8(n)
}

// ReportJobs reports how attempts ended.
func (s *jobService) ReportJobs(ctx context.Context,
	req *connect.Request[jobpb.ReportJobsRequest],
) (*connect.Response[jobpb.ReportJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	for i, r := range m.GetReports() {
		failed, done := r.GetError() != "", len(r.GetResult()) > 0
		if r.GetReturned() && (failed || done) || failed && done || r.GetFinal() && !failed {
			return nil, invalid("reports[%d]: an attempt has a result, or an error, or is returned, and final is for an error", i)
		}
	}
	parts, err := s.split(len(m.GetReports()), func(i int) string { return m.GetReports()[i].GetId() })
	if err != nil {
		return nil, err
	}
	list := outcomes(ctx, parts, func(ctx context.Context, p int32, at []int) ([]*jobpb.JobOutcome, error) {
		reports := chosen(m.GetReports(), at)
		res, err := shard[jobpb.ReportJobsResponse]{
			partition: p,
			local: func(ctx context.Context) (*jobpb.ReportJobsResponse, error) {
				list, err := s.each(ctx, p, len(at), func(q *queues.Shard, i int) (JobID, error) {
					return parts.ids[at[i]], report(q, m, reports[i], parts.ids[at[i]].Number)
				})
				return &jobpb.ReportJobsResponse{Outcomes: list}, err
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.ReportJobsResponse], error) {
				sub := &jobpb.ReportJobsRequest{Queue: m.GetQueue(), Agent: m.GetAgent(), Reports: reports}
				return c.ReportJobs(ctx, connect.NewRequest(sub))
			},
		}.run(ctx, s)
		return res.GetOutcomes(), err
	})
	return connect.NewResponse(&jobpb.ReportJobsResponse{Outcomes: list}), nil
}

// report reports how an attempt ended.
func report(q *queues.Shard, m *jobpb.ReportJobsRequest, r *jobpb.JobReport, id jobqueue.ID) error {
	a := &queues.Attempt{Queue: m.GetQueue(), Agent: m.GetAgent(), ID: id, Attempt: attempt(r.GetAttempt())}
	switch {
	case r.GetReturned():
		return q.Return(a)
	case r.GetError() != "":
		return q.Fail(a, r.GetError(), r.GetFinal())
	}
	return q.Complete(a, r.GetResult())
}

// each calls fn for n items in a shard of this process, and returns what became of each when that
// has committed.
func (s *jobService) each(ctx context.Context, partition int32, n int,
	fn func(q *queues.Shard, i int) (JobID, error),
) (list []*jobpb.JobOutcome, err error) {
	err = s.source.Ask(ctx, partition, true, func(q *queues.Shard) error {
		list = nil
		for i := range n {
			id, err := fn(q, i)
			list = append(list, newOutcome(id, err))
		}
		q.Wake() // also if nothing has changed: what a repeated request is about may not have committed
		return nil
	})
	return list, err
}

func newOutcome(id JobID, err error) *jobpb.JobOutcome {
	o := &jobpb.JobOutcome{Id: id.String()}
	if err != nil {
		o.Code, o.Message = connect.CodeOf(jobError(err, "")).String(), err.Error()
	}
	return o
}

// outcomes calls fn for the positions of each partition, and returns all outcomes in the order of
// the request. Items of a partition that cannot be asked have the code of the error.
func outcomes(ctx context.Context, parts byPartition,
	fn func(ctx context.Context, p int32, at []int) ([]*jobpb.JobOutcome, error),
) []*jobpb.JobOutcome {
	list, failed := gather(ctx, parts, fn)
	for p, err := range failed {
		for _, i := range parts.positions[p] {
			list[i] = newOutcome(parts.ids[i], jobError(err, fmt.Sprintf("partition %d of the job queues", p)))
		}
	}
	return list
}

// ChangeJobs cancels or redoes jobs.
func (s *jobService) ChangeJobs(ctx context.Context,
	req *connect.Request[jobpb.ChangeJobsRequest],
) (*connect.Response[jobpb.ChangeJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	if c := m.GetChange(); c != "cancel" && c != "redo" {
		return nil, invalid("change %.40q is not known: use cancel or redo", c)
	}
	parts, err := s.split(len(m.GetIds()), func(i int) string { return m.GetIds()[i] })
	if err != nil {
		return nil, err
	}
	list := outcomes(ctx, parts, func(ctx context.Context, p int32, at []int) ([]*jobpb.JobOutcome, error) {
		res, err := shard[jobpb.ChangeJobsResponse]{
			partition: p,
			local: func(ctx context.Context) (*jobpb.ChangeJobsResponse, error) {
				list, err := s.each(ctx, p, len(at), func(q *queues.Shard, i int) (JobID, error) {
					id := parts.ids[at[i]]
					if m.GetChange() == "redo" {
						return id, q.Redo(m.GetQueue(), id.Number)
					}
					return id, q.Cancel(m.GetQueue(), id.Number)
				})
				return &jobpb.ChangeJobsResponse{Outcomes: list}, err
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.ChangeJobsResponse], error) {
				sub := &jobpb.ChangeJobsRequest{Queue: m.GetQueue(), Change: m.GetChange(), Ids: chosen(m.GetIds(), at)}
				return c.ChangeJobs(ctx, connect.NewRequest(sub))
			},
		}.run(ctx, s)
		return res.GetOutcomes(), err
	})
	return connect.NewResponse(&jobpb.ChangeJobsResponse{Outcomes: list}), nil
}
