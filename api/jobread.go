package api

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
	"github.com/weirhq/weir/jobqueue/queues"
)

// GetJobs returns jobs as they are committed.
func (s *jobService) GetJobs(ctx context.Context,
	req *connect.Request[jobpb.GetJobsRequest],
) (*connect.Response[jobpb.GetJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	parts, err := s.split(len(m.GetIds()), func(i int) string { return m.GetIds()[i] })
	if err == nil {
		err = s.checkIDs(ctx, m.GetQueue(), parts)
	}
	if err != nil {
		return nil, err
	}
	jobs, failed := gather(ctx, parts, func(ctx context.Context, p int32, at []int) ([]*jobpb.Job, error) {
		res, err := shard[jobpb.GetJobsResponse]{
			partition: p,
			local: func(ctx context.Context) (*jobpb.GetJobsResponse, error) {
				jobs, err := s.jobs(ctx, m.GetQueue(), chosen(parts.ids, at))
				return &jobpb.GetJobsResponse{Jobs: jobs}, err
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.GetJobsResponse], error) {
				return c.GetJobs(ctx, connect.NewRequest(&jobpb.GetJobsRequest{Queue: m.GetQueue(), Ids: chosen(m.GetIds(), at)}))
			},
		}.run(ctx, s)
		return res.GetJobs(), err
	})
	if err := failed.first(); err != nil {
		return nil, jobError(err, fmt.Sprintf("jobs of queue %q", m.GetQueue()))
	}
	return connect.NewResponse(&jobpb.GetJobsResponse{Jobs: jobs}), nil
}

// checkIDs returns an error if there is no queue with the name, or if one of the ids is of a
// partition that the queue does not have.
func (s *jobService) checkIDs(ctx context.Context, queue string, parts byPartition) error {
	if requestMetaOf(ctx).forwarded { // the process that forwards has checked them
		return nil
	}
	partitions, err := s.partitionsOf(ctx, queue)
	if err != nil {
		return err
	}
	for _, p := range parts.partitions {
		if !slices.Contains(partitions, p) {
			return errorf(connect.CodeNotFound, "job %s: queue %q has the partitions %v: correct the id, or the queue",
				parts.ids[parts.positions[p][0]], queue, partitions)
		}
	}
	return nil
}

// ListJobs returns a page of jobs.
func (s *jobService) ListJobs(ctx context.Context,
	req *connect.Request[jobpb.ListJobsRequest],
) (*connect.Response[jobpb.ListJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := proto.CloneOf(req.Msg)
	sel, err := selectorOf(m)
	if err != nil {
		return nil, err
	}
	partitions := []int32{m.GetPartition()}
	if m.Partition == nil {
		if partitions, err = s.partitionsOf(ctx, m.GetQueue()); err != nil {
			return nil, err
		}
		slices.Sort(partitions)
	} else if err := forwardedOnly(ctx); err != nil {
		return nil, err
	}
	fingerprint := xxhash.Sum64String(fmt.Sprintf("%q %q %q %q", m.GetQueue(), m.GetState(), m.GetGroup(), m.GetResource()))
	at := position{}
	if t := m.GetPageToken(); t != "" {
		if at, err = parseToken(t, fingerprint); err == nil && len(at.from) != 8 {
			err = invalid("page_token is invalid: send next_page_token of the previous page unchanged, or omit it to start again")
		}
		if err != nil {
			return nil, err
		}
		sel.After, sel.Page = jobqueue.ID(binary.BigEndian.Uint64(at.from)), true
	}
	out, limit := &jobpb.ListJobsResponse{}, sel.Limit
	l := jobList{m, sel, fingerprint}
	for i, p := range partitions {
		if p < at.partition {
			continue
		}
		if p > at.partition {
			sel.After, sel.Page = 0, false
		}
		if !m.GetCount() {
			sel.Limit = limit - len(out.GetJobs()) + 1
		}
		res, err := s.listIn(ctx, p, l)
		if err != nil {
			return nil, jobError(err, fmt.Sprintf("jobs of queue %q", m.GetQueue()))
		}
		out.Count += res.GetCount()
		more := res.GetNextPageToken() != ""
		if n := limit - len(out.GetJobs()); len(res.GetJobs()) > n {
			res.Jobs, more = res.GetJobs()[:n], true
		}
		out.Jobs = append(out.Jobs, res.GetJobs()...)
		if n := len(out.GetJobs()); !m.GetCount() && (more || n == limit && i < len(partitions)-1) {
			last, err := ParseJobID(out.GetJobs()[n-1].GetId())
			if err != nil {
				return nil, sourceBug("a job has the id %q", out.GetJobs()[n-1].GetId())
			}
			out.NextPageToken = position{last.Partition, binary.BigEndian.AppendUint64(nil, uint64(last.Number))}.token(fingerprint)
			break
		}
	}
	return connect.NewResponse(out), nil
}

// selectorOf returns the selector of a request.
func selectorOf(m *jobpb.ListJobsRequest) (*jobqueue.Selector, error) {
	sel := &jobqueue.Selector{Group: m.GetGroup(), Resource: m.GetResource(), Limit: int(m.GetLimit())}
	if sel.Limit == 0 {
		sel.Limit = defaultPageKeys
	}
	if sel.Limit < 1 || sel.Limit > MaxJobs {
		return nil, invalid("limit %d is out of range: use 1 to %d, and page_token for more", sel.Limit, MaxJobs)
	}
	if m.GetCount() {
		sel.Limit = 0
	}
	for state := jobqueue.None; state <= jobqueue.Canceled; state++ {
		if m.GetState() == state.String() && state != jobqueue.None {
			sel.State = state
			return sel, nil
		}
	}
	if m.GetState() != "" {
		return nil, invalid("state %.40q is not known: use delayed, blocked, pending, running, done, failed or canceled", m.GetState())
	}
	return sel, nil
}

// jobList is a list of jobs.
type jobList struct {
	*jobpb.ListJobsRequest
	sel         *jobqueue.Selector
	fingerprint uint64
}

// listIn lists jobs of one partition: at most l.sel.Limit.
func (s *jobService) listIn(ctx context.Context, partition int32, l jobList) (*jobpb.ListJobsResponse, error) {
	return shard[jobpb.ListJobsResponse]{
		partition: partition,
		local: func(ctx context.Context) (*jobpb.ListJobsResponse, error) {
			var ids []jobqueue.ID
			r := &jobpb.ListJobsResponse{}
			err := s.source.Ask(ctx, partition, false, func(q *queues.Shard) (err error) {
				if !l.GetCount() {
					ids, err = q.Select(l.GetQueue(), l.sel)
					return err
				}
				n, err := q.Count(l.GetQueue(), l.sel)
				r.Count = int64(n)
				return err
			})
			if err != nil {
				return nil, err
			}
			list := make([]JobID, len(ids))
			for i, id := range ids {
				list[i] = JobID{partition, id}
			}
			if r.Jobs, err = s.jobs(ctx, l.GetQueue(), list); err != nil {
				return nil, err
			}
			return r, nil
		},
		remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.ListJobsResponse], error) {
			m := proto.CloneOf(l.ListJobsRequest)
			m.Partition, m.Limit, m.PageToken = &partition, int32(min(max(l.sel.Limit, 1), MaxJobs)), ""
			if l.sel.Page {
				m.PageToken = position{partition, binary.BigEndian.AppendUint64(nil, uint64(l.sel.After))}.token(l.fingerprint)
			}
			return c.ListJobs(ctx, connect.NewRequest(m))
		},
	}.run(ctx, s)
}

// ExplainJob returns why a job is not running.
func (s *jobService) ExplainJob(ctx context.Context,
	req *connect.Request[jobpb.ExplainJobRequest],
) (*connect.Response[jobpb.ExplainJobResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	id, err := ParseJobID(m.GetId())
	if err != nil {
		return nil, invalid("%v", err)
	}
	if err := s.checkIDs(ctx, m.GetQueue(), oneOf(id)); err != nil {
		return nil, err
	}
	res, err := shard[jobpb.ExplainJobResponse]{
		partition: id.Partition,
		local: func(ctx context.Context) (*jobpb.ExplainJobResponse, error) {
			r := &jobpb.ExplainJobResponse{}
			jobs, err := s.jobs(ctx, m.GetQueue(), []JobID{id})
			if err != nil {
				return nil, err
			}
			job := jobs[0]
			r.Job = job
			if job.GetState() == "refused" || job.GetEvicted() {
				r.Text = job.GetState()
				return r, nil
			}
			err = s.source.Ask(ctx, id.Partition, false, func(q *queues.Shard) error {
				w, err := q.Why(m.GetQueue(), id.Number)
				r.Text, r.Job.State = w.String(), w.State.String() // the rows may be of the transaction before
				return err
			})
			return r, err
		},
		remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.ExplainJobResponse], error) {
			return c.ExplainJob(ctx, connect.NewRequest(m))
		},
	}.run(ctx, s)
	if err != nil {
		return nil, jobError(err, fmt.Sprintf("job %s of queue %q", m.GetId(), m.GetQueue()))
	}
	return connect.NewResponse(res), nil
}
