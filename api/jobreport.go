package api

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
	"github.com/weirhq/weir/jobqueue/queues"
)

// byPartition has the positions of ids in a request, by partition, in the order of the first of
// each.
type byPartition struct {
	partitions []int32
	positions  map[int32][]int
	ids        []JobID
}

// split parses the ids of a request.
func (s *jobService) split(n int, id func(i int) string) (b byPartition, err error) {
	if n < 1 || n > MaxJobs {
		return b, invalid("the request has %d jobs: send 1 to %d", n, MaxJobs)
	}
	b.positions = map[int32][]int{}
	for i := range n {
		x, err := ParseJobID(id(i))
		if err != nil {
			return b, invalid("%v", err)
		}
		if x.Partition >= s.partitions() {
			return b, errorf(connect.CodeNotFound, "job %s: the job queues have %d partitions: correct the id", x, s.partitions())
		}
		if b.positions[x.Partition] == nil {
			b.partitions = append(b.partitions, x.Partition)
		}
		b.positions[x.Partition] = append(b.positions[x.Partition], i)
		b.ids = append(b.ids, x)
	}
	return b, nil
}

// HeartbeatJobs renews leases.
func (s *jobService) HeartbeatJobs(ctx context.Context,
	req *connect.Request[jobpb.HeartbeatJobsRequest],
) (*connect.Response[jobpb.HeartbeatJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	parts, err := s.split(len(m.GetJobs()), func(i int) string { return m.GetJobs()[i].GetId() })
	if err != nil {
		return nil, err
	}
	out := &jobpb.HeartbeatJobsResponse{}
	var failed error // of a partition; the others are asked nevertheless
	for _, p := range parts.partitions {
		sub := &jobpb.HeartbeatJobsRequest{Queue: m.GetQueue(), Agent: m.GetAgent()}
		var held []jobqueue.Held
		for _, i := range parts.positions[p] {
			sub.Jobs = append(sub.Jobs, m.GetJobs()[i])
			held = append(held, jobqueue.Held{ID: parts.ids[i].Number, Attempt: attempt(m.GetJobs()[i].GetAttempt())})
		}
		res, err := shard[jobpb.HeartbeatJobsResponse]{
			partition: p,
			local: func(ctx context.Context) (*jobpb.HeartbeatJobsResponse, error) {
				r := &jobpb.HeartbeatJobsResponse{}
				err := s.source.Ask(ctx, p, false, func(q *queues.Shard) error {
					stop, err := q.Heartbeat(m.GetQueue(), m.GetAgent(), held)
					for _, h := range stop {
						r.Stop = append(r.Stop, &jobpb.JobAttempt{Id: JobID{p, h.ID}.String(), Attempt: uint32(h.Attempt)})
					}
					return err
				})
				return r, err
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.HeartbeatJobsResponse], error) {
				return c.HeartbeatJobs(ctx, connect.NewRequest(sub))
			},
		}.run(ctx, s)
		if err != nil {
			what := fmt.Sprintf("a heartbeat of agent %.100q to queue %.100q in partition %d", m.GetAgent(), m.GetQueue(), p)
			failed = jobError(err, what)
			continue
		}
		out.Stop = append(out.Stop, res.GetStop()...)
	}
	if failed != nil && len(parts.partitions) == 1 {
		return nil, failed
	}
	if failed != nil {
		out.Unread = failed.Error()
	}
	return connect.NewResponse(out), nil
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
	return outcomes(parts, func(p int32, at []int) ([]*jobpb.JobOutcome, error) {
		sub := &jobpb.ReportJobsRequest{Queue: m.GetQueue(), Agent: m.GetAgent()}
		for _, i := range at {
			sub.Reports = append(sub.Reports, m.GetReports()[i])
		}
		res, err := shard[jobpb.ReportJobsResponse]{
			partition: p,
			local: func(ctx context.Context) (*jobpb.ReportJobsResponse, error) {
				list, err := s.each(ctx, p, len(at), func(q *queues.Shard, i int) (JobID, error) {
					return parts.ids[at[i]], report(q, m, sub.GetReports()[i], parts.ids[at[i]].Number)
				})
				return &jobpb.ReportJobsResponse{Outcomes: list}, err
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.ReportJobsResponse], error) {
				return c.ReportJobs(ctx, connect.NewRequest(sub))
			},
		}.run(ctx, s)
		return res.GetOutcomes(), err
	}, func(list []*jobpb.JobOutcome) *jobpb.ReportJobsResponse {
		return &jobpb.ReportJobsResponse{Outcomes: list}
	})
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
func outcomes[R any](parts byPartition, fn func(partition int32, at []int) ([]*jobpb.JobOutcome, error),
	response func([]*jobpb.JobOutcome) *R,
) (*connect.Response[R], error) {
	list := make([]*jobpb.JobOutcome, len(parts.ids))
	for _, p := range parts.partitions {
		at := parts.positions[p]
		got, err := fn(p, at)
		if err == nil && len(got) != len(at) {
			err = sourceBug("%d outcomes of %d jobs of partition %d", len(got), len(at), p)
		}
		for k, i := range at {
			if err != nil {
				list[i] = newOutcome(parts.ids[i], jobError(err, fmt.Sprintf("partition %d of the job queues", p)))
			} else {
				list[i] = got[k]
			}
		}
	}
	return connect.NewResponse(response(list)), nil
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
	return outcomes(parts, func(p int32, at []int) ([]*jobpb.JobOutcome, error) {
		sub := &jobpb.ChangeJobsRequest{Queue: m.GetQueue(), Change: m.GetChange()}
		for _, i := range at {
			sub.Ids = append(sub.Ids, m.GetIds()[i])
		}
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
				return c.ChangeJobs(ctx, connect.NewRequest(sub))
			},
		}.run(ctx, s)
		return res.GetOutcomes(), err
	}, func(list []*jobpb.JobOutcome) *jobpb.ChangeJobsResponse {
		return &jobpb.ChangeJobsResponse{Outcomes: list}
	})
}
