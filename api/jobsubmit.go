package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/queues"
)

// MaxJobs is the maximum number of jobs of a request.
const MaxJobs = 1000

// submitLimit is the time limit for the brokers to acknowledge jobs.
const submitLimit = 10 * time.Second

// SubmitJobs writes jobs. weir.proto lists its errors.
func (s *jobService) SubmitJobs(ctx context.Context,
	req *connect.Request[jobpb.SubmitJobsRequest],
) (*connect.Response[jobpb.SubmitJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	if n := len(m.GetJobs()); n < 1 || n > MaxJobs {
		return nil, invalid("the request has %d jobs: send 1 to %d", n, MaxJobs)
	}
	partitions, err := s.partitionsOf(ctx, m.GetQueue())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, submitLimit)
	defer cancel()
	list := make([]JobRecord, len(m.GetJobs()))
	next := rand.IntN(len(partitions)) //nolint:gosec // it spreads jobs
	for i, job := range m.GetJobs() {
		r, err := newJobRecord(m.GetQueue(), job)
		if err != nil {
			return nil, invalid("nothing was written: jobs[%d]: %w", i, err)
		}
		switch {
		case len(job.GetAfter()) > 0:
			if !slices.Contains(partitions, r.Partition) {
				return nil, invalid("nothing was written: jobs[%d]: queue %q does not have partition %d of the jobs that it waits for", i,
					m.GetQueue(), r.Partition)
			}
		case job.GetKey() != "": // repeated, it is found there
			r.Partition = partitions[xxhash.Sum64String(job.GetKey())%uint64(len(partitions))]
		default:
			r.Partition = partitions[next%len(partitions)]
			next++
		}
		list[i] = r
	}
	offsets, err := s.sink.Submit(ctx, list)
	if err != nil {
		return nil, errorf(connect.CodeUnavailable,
			"the jobs could not be written, or not all of them: %w: send the request again; jobs without a key may then be there twice", err)
	}
	out := &jobpb.SubmitJobsResponse{}
	for i, at := range offsets {
		out.Ids = append(out.Ids, fmt.Sprintf("%d-%d", list[i].Partition, at))
	}
	return connect.NewResponse(out), nil
}

// CheckJob returns an error if no queue takes a job.
func CheckJob(job *jobpb.NewJob) error {
	_, err := newJobRecord("", job)
	return err
}

// newJobRecord returns the record of a job. Its partition is set if the job waits for others.
func newJobRecord(queue string, job *jobpb.NewJob) (r JobRecord, err error) {
	if n := len(job.GetPayload()); n > queues.MaxPayload {
		return r, fmt.Errorf("the payload has %d bytes, and the maximum is %d: store it in another system, and send a reference", n,
			queues.MaxPayload)
	}
	spec := &eventspb.JobSpec{
		Require: job.GetRequire(), Prefer: job.GetPrefer(), Priority: job.GetPriority(), NotBeforeMs: job.GetNotBeforeMs(),
		Key: job.GetKey(), Group: job.GetGroup(),
	}
	for i, s := range job.GetAfter() {
		id, err := ParseJobID(s)
		if err != nil {
			return r, err
		}
		if i > 0 && id.Partition != r.Partition {
			return r, fmt.Errorf("after has jobs of partitions %d and %d, and they have to be in one: use a queue with one partition",
				r.Partition, id.Partition)
		}
		r.Partition = id.Partition
		spec.After = append(spec.After, uint64(id.Number))
	}
	if err := queues.CheckSpec(spec); err != nil {
		return r, err
	}
	r.JobSubmission = &eventspb.JobSubmission{Queue: queue, Spec: spec, Payload: job.GetPayload()}
	return r, nil
}
