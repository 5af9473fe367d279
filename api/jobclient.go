package api

import (
	"context"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// SetQueue creates a job queue, or changes its settings.
func (c *Client) SetQueue(ctx context.Context, req *weirpb.SetQueueRequest) (*weirpb.SetQueueResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.SetQueue, req)
}

// ListQueues returns the job queues.
func (c *Client) ListQueues(ctx context.Context, req *weirpb.ListQueuesRequest) (*weirpb.ListQueuesResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ListQueues, req)
}

// PauseQueue pauses or resumes a job queue.
func (c *Client) PauseQueue(ctx context.Context, req *weirpb.PauseQueueRequest) (*weirpb.PauseQueueResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.PauseQueue, req)
}

// SubmitJobs submits jobs, and returns their ids.
func (c *Client) SubmitJobs(ctx context.Context, req *weirpb.SubmitJobsRequest) (*weirpb.SubmitJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.SubmitJobs, req)
}

// PollJobs returns jobs for an agent as soon as there are some, or none after the request's wait.
func (c *Client) PollJobs(ctx context.Context, req *weirpb.PollJobsRequest) (*weirpb.PollJobsResponse, error) {
	wait := time.Duration(req.GetWaitMs()) * time.Millisecond
	return call(ctx, c, max(waitTimeout, wait+callTimeout), c.jobs.PollJobs, req)
}

// HeartbeatJobs renews the leases of jobs.
func (c *Client) HeartbeatJobs(ctx context.Context, req *weirpb.HeartbeatJobsRequest) (*weirpb.HeartbeatJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.HeartbeatJobs, req)
}

// ReportJobs reports how attempts ended.
func (c *Client) ReportJobs(ctx context.Context, req *weirpb.ReportJobsRequest) (*weirpb.ReportJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ReportJobs, req)
}

// GetJobs returns jobs by their ids.
func (c *Client) GetJobs(ctx context.Context, req *weirpb.GetJobsRequest) (*weirpb.GetJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.GetJobs, req)
}

// ListJobs returns a page of the jobs of a queue.
func (c *Client) ListJobs(ctx context.Context, req *weirpb.ListJobsRequest) (*weirpb.ListJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ListJobs, req)
}

// ChangeJobs cancels or redoes jobs.
func (c *Client) ChangeJobs(ctx context.Context, req *weirpb.ChangeJobsRequest) (*weirpb.ChangeJobsResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ChangeJobs, req)
}

// ExplainJob returns why a job is not running.
func (c *Client) ExplainJob(ctx context.Context, req *weirpb.ExplainJobRequest) (*weirpb.ExplainJobResponse, error) {
	return call(ctx, c, callTimeout, c.jobs.ExplainJob, req)
}
