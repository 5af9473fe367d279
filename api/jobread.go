package api

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
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
		err = s.checkIDs(ctx, m.GetQueue(), parts.ids)
	}
	if err != nil {
		return nil, err
	}
	jobs, failed := gather(ctx, parts, func(ctx context.Context, p int32, at []int) ([]*jobpb.Job, error) {
		res, err := shard[jobpb.GetJobsResponse]{
			partition: p,
			local: func(ctx context.Context) (*jobpb.GetJobsResponse, error) {
				r := &jobpb.GetJobsResponse{}
				for _, i := range at {
					job, err := s.job(ctx, m.GetQueue(), parts.ids[i])
					if err != nil {
						return nil, err
					}
					r.Jobs = append(r.Jobs, job)
				}
				return r, nil
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
func (s *jobService) checkIDs(ctx context.Context, queue string, ids []JobID) error {
	if requestMetaOf(ctx).forwarded { // the process that forwards has checked them
		return nil
	}
	partitions, err := s.partitionsOf(ctx, queue)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.Contains(partitions, id.Partition) {
			return errorf(connect.CodeNotFound, "job %s: queue %q has the partitions %v: correct the id, or the queue", id, queue,
				partitions)
		}
	}
	return nil
}

// job reads a job from the committed state of this process.
func (s *jobService) job(ctx context.Context, queue string, id JobID) (*jobpb.Job, error) {
	key := queues.NumberKey(nil, queue, id.Number)
	r := rowReader{ctx, s.router.state, id.Partition}
	out := &jobpb.Job{Id: id.String(), State: jobqueue.None.String()}
	status := &eventspb.JobStatus{}
	switch ok, err := r.get(queues.TableStatus, key, status); {
	case err != nil:
		return nil, err
	case !ok:
		return out, r.ended(out, queue, id)
	}
	stored, result := &eventspb.StoredJob{}, &eventspb.JobResult{}
	if _, err := r.get(queues.TableJobs, key, stored); err != nil {
		return nil, err
	}
	if _, err := r.get(queues.TableResults, key, result); err != nil {
		return nil, err
	}
	spec := stored.GetSpec()
	out.State = jobqueue.State(status.GetState()).String()
	out.Attempt, out.Agent = status.GetAttempt(), status.GetAgent()
	out.Tries = status.GetAttempt() - min(status.GetAttempt(), status.GetSpared())
	out.SinceMs, out.UntilMs = status.GetSinceMs(), status.GetUntilMs()
	for _, n := range status.GetAfter() {
		out.After = append(out.After, JobID{id.Partition, jobqueue.ID(n)}.String())
	}
	out.Result, out.Error, out.EndedMs = result.GetResult(), result.GetError(), result.GetEndedMs()
	if out.GetAgent() == "" {
		out.Agent = result.GetAgent()
	}
	out.SubmittedMs, out.Require, out.Prefer = stored.GetSubmittedMs(), spec.GetRequire(), spec.GetPrefer()
	out.Priority, out.Key, out.Group = spec.GetPriority(), spec.GetKey(), spec.GetGroup()
	return out, nil
}

// rowReader reads rows of a partition of this process.
type rowReader struct {
	ctx       context.Context //nolint:containedctx // it lives for one request
	state     StateSource
	partition int32
}

// get reads a row, and reports whether the table has it.
func (r rowReader) get(table byte, key []byte, m proto.Message) (ok bool, err error) {
	page, err := r.state.Page(r.ctx, PageQuery{Partition: r.partition, Table: table, From: key, To: append(slices.Clone(key), 0), Limit: 1})
	if err != nil || len(page.Entries) == 0 {
		return false, err
	}
	return true, proto.Unmarshal(page.Entries[0].Value, m)
}

// ended sets the state of a job without rows: it is evicted, or was refused.
func (r rowReader) ended(out *jobpb.Job, queue string, id JobID) error {
	refusal := &eventspb.JobRefusal{}
	ok, err := r.get(queues.TableRefusals, queues.NumberKey(nil, queue, id.Number), refusal)
	if err != nil {
		return err
	}
	if ok {
		out.State, out.Reason, out.Error, out.EndedMs = "refused", refusal.GetReason(), refusal.GetDetail(), refusal.GetAtMs()
		if refusal.GetReason() == queues.RefusedDuplicate {
			out.First = JobID{id.Partition, jobqueue.ID(refusal.GetFirst())}.String()
		}
		return nil
	}
	segment := &eventspb.JobSegment{}
	ok, err = r.get(queues.TableSegments, queues.NumberKey(nil, queue, id.Number-id.Number%jobqueue.SegmentSize), segment)
	if err != nil || !ok || !segment.GetClosed() {
		return err
	}
	state, err := queues.FinalState(segment, id.Number)
	if out.State = state.String(); state != jobqueue.None {
		out.Evicted = true
	}
	return err
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
			for _, id := range ids {
				job, err := s.job(ctx, l.GetQueue(), JobID{partition, id})
				if err != nil {
					return nil, err
				}
				r.Jobs = append(r.Jobs, job)
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
	if err := s.checkIDs(ctx, m.GetQueue(), []JobID{id}); err != nil {
		return nil, err
	}
	res, err := shard[jobpb.ExplainJobResponse]{
		partition: id.Partition,
		local: func(ctx context.Context) (*jobpb.ExplainJobResponse, error) {
			r := &jobpb.ExplainJobResponse{}
			job, err := s.job(ctx, m.GetQueue(), id)
			if err != nil {
				return nil, err
			}
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
