package api

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/jobqueue/jobpb"
)

// SetQueue creates a job queue, or changes its settings.
func (c *Client) SetQueue(ctx context.Context, req *jobpb.SetQueueRequest) (*jobpb.SetQueueResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.SetQueue, req)
}

// ListQueues returns the job queues.
func (c *Client) ListQueues(ctx context.Context, req *jobpb.ListQueuesRequest) (*jobpb.ListQueuesResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ListQueues, req)
}

// PauseQueue pauses or resumes a job queue.
func (c *Client) PauseQueue(ctx context.Context, req *jobpb.PauseQueueRequest) (*jobpb.PauseQueueResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.PauseQueue, req)
}

// SubmitJobs submits jobs, and returns their ids.
func (c *Client) SubmitJobs(ctx context.Context, req *jobpb.SubmitJobsRequest) (*jobpb.SubmitJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.SubmitJobs, req)
}

// PollJobs returns jobs for an agent as soon as there are some, or none after the request's wait.
func (c *Client) PollJobs(ctx context.Context, req *jobpb.PollJobsRequest) (*jobpb.PollJobsResponse, error) {
	wait := time.Duration(req.GetWaitMs()) * time.Millisecond
	return call(ctx, c, max(waitTimeout, wait+callTimeout), c.jobs.PollJobs, req)
}

// StreamJobs calls fn with the jobs for an agent as they come, until the request's wait has passed,
// fn has returned an error, or the stream has ended with one.
func (c *Client) StreamJobs(ctx context.Context, req *jobpb.StreamJobsRequest, fn func([]*jobpb.StartedJob) error) error {
	if c.addrErr != nil {
		return c.addrErr
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.jobs.StreamJobs(ctx, connect.NewRequest(req))
	if err != nil {
		return err
	}
	for stream.Receive() {
		if err := fn(stream.Msg().GetJobs()); err != nil {
			return errors.Join(err, stream.Close())
		}
	}
	return errors.Join(stream.Err(), stream.Close())
}

// HeartbeatJobs renews the leases of jobs.
func (c *Client) HeartbeatJobs(ctx context.Context, req *jobpb.HeartbeatJobsRequest) (*jobpb.HeartbeatJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.HeartbeatJobs, req)
}

// ReportJobs reports how attempts ended.
func (c *Client) ReportJobs(ctx context.Context, req *jobpb.ReportJobsRequest) (*jobpb.ReportJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ReportJobs, req)
}

// GetJobs returns jobs by their ids.
func (c *Client) GetJobs(ctx context.Context, req *jobpb.GetJobsRequest) (*jobpb.GetJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.GetJobs, req)
}

// ListJobs returns a page of the jobs of a queue.
func (c *Client) ListJobs(ctx context.Context, req *jobpb.ListJobsRequest) (*jobpb.ListJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ListJobs, req)
}

// ChangeJobs cancels or redoes jobs.
func (c *Client) ChangeJobs(ctx context.Context, req *jobpb.ChangeJobsRequest) (*jobpb.ChangeJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ChangeJobs, req)
}

// GetJobStates returns the states of many jobs, with the request's wait when all of them have
// ended.
func (c *Client) GetJobStates(ctx context.Context, req *jobpb.GetJobStatesRequest) (*jobpb.GetJobStatesResponse, error) {
	return call(ctx, c, callTimeout+time.Duration(req.GetWaitMs())*time.Millisecond, c.jobs.GetJobStates, req)
}

// GetSignals returns the rates of a queue, its alarms, and how many agents it needs.
func (c *Client) GetSignals(ctx context.Context, req *jobpb.GetSignalsRequest) (*jobpb.GetSignalsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.GetSignals, req)
}

// ExplainJob returns why a job is not running.
func (c *Client) ExplainJob(ctx context.Context, req *jobpb.ExplainJobRequest) (*jobpb.ExplainJobResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ExplainJob, req)
}
