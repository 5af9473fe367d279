package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// waitOnce is the wait of one request for the end of jobs.
const waitOnce = 20 * time.Second

// await waits until jobs have ended, prints them, and returns an error unless all are done.
func (r request) await(ctx context.Context, ids []string, wait time.Duration) error {
	end := time.Now().Add(wait)
	for begin := 0; begin < len(ids); begin += api.MaxJobStates {
		some := ids[begin:min(begin+api.MaxJobStates, len(ids))]
		for ended := false; !ended && ctx.Err() == nil && time.Now().Before(end); {
			ms := max(1, min(waitOnce, time.Until(end)).Milliseconds())
			sent := time.Now()
			if _, err := r.client.GetJobStates(ctx, &jobpb.GetJobStatesRequest{Queue: r.queue, Ids: some, WaitMs: ms}); err != nil {
				return err
			}
			ended = time.Since(sent).Milliseconds() < ms // it answered before its wait was over
		}
	}
	var list []*jobpb.Job
	for begin := 0; begin < len(ids); begin += api.MaxJobs {
		res, err := r.client.GetJobs(ctx, &jobpb.GetJobsRequest{Queue: r.queue, Ids: ids[begin:min(begin+api.MaxJobs, len(ids))]})
		if err != nil {
			return err
		}
		list = append(list, res.GetJobs()...)
	}
	if err := cli.PrintRows(r.App, jobRows(list)); err != nil {
		return err
	}
	not := 0
	for _, j := range list {
		if j.GetState() != "done" {
			not++
		}
	}
	if not > 0 {
		return cli.Fail(cli.ExitFailed, fmt.Sprintf("%d of %d jobs are not done", not, len(list)), nil,
			"`weir job why QUEUE JOB` explains why a job does not run")
	}
	return nil
}
