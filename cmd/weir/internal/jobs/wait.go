package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// Waits for the end of jobs.
const (
	waitOnce  = 20 * time.Second // of a request
	waitAgain = time.Second      // after an answer that came early, or an error that may pass
)

// await returns jobs when they have ended, or after a time.
func (r request) await(ctx context.Context, ids []string, wait time.Duration) (list []*jobpb.Job, err error) {
	end := time.Now().Add(wait)
	for some := range slices.Chunk(ids, api.MaxJobStates) {
		if err := r.awaitSome(ctx, some, end); err != nil {
			return nil, err
		}
	}
	for some := range slices.Chunk(ids, api.MaxJobs) {
		res, err := r.client.GetJobs(ctx, &jobpb.GetJobsRequest{Queue: r.queue, Ids: some})
		if err != nil {
			return nil, err
		}
		list = append(list, res.GetJobs()...)
	}
	return list, nil
}

// printAwaited prints the jobs of await, and returns an error unless all are done.
func printAwaited(a *cli.App, list []*jobpb.Job) error {
	if err := cli.PrintRows(a, jobRows(list)); err != nil {
		return err
	}
	not := 0
	for _, j := range list {
		if j.GetState() != "done" {
			not++
		}
	}
	if not > 0 {
		return cli.Fail(cli.ExitFailed, "not all jobs are done", fmt.Errorf("%d of %d have another state", not, len(list)),
			"`weir job why QUEUE JOB` explains why a job does not run")
	}
	return nil
}

// awaitSome waits until jobs have ended, or for a time. While a partition moves, it repeats the
// request.
func (r request) awaitSome(ctx context.Context, ids []string, end time.Time) error {
	for time.Now().Before(end) {
		wait := min(waitOnce, time.Until(end))
		sent := time.Now()
		res, err := r.client.GetJobStates(ctx, &jobpb.GetJobStatesRequest{Queue: r.queue, Ids: ids, WaitMs: max(1, wait.Milliseconds())})
		switch code := connect.CodeOf(err); {
		case err == nil && !slices.ContainsFunc(res.GetStates(), live):
			if time.Since(sent) < wait { // otherwise a job without a state may be one that is not submitted yet
				return nil
			}
		case err != nil && code != connect.CodeUnavailable && code != connect.CodeResourceExhausted:
			return err
		}
		if time.Since(sent) < wait && !pause.For(ctx, min(waitAgain, time.Until(end))) {
			return ctx.Err()
		}
	}
	return nil
}

// live reports whether a job has not ended.
func live(s jobpb.JobState) bool {
	return s >= jobpb.JobState_JOB_STATE_DELAYED && s <= jobpb.JobState_JOB_STATE_RUNNING
}
