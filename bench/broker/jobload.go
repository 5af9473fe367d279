package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

const (
	signatures = 10          // different requirements of jobs
	drainLimit = time.Minute // from the last submit until all jobs are done
)

// jobLoad is the submitters and agents of a measurement, with what they know of the jobs.
type jobLoad struct {
	bench  *JobsBench
	server *jobServer
	ledger *jobLedger
	// free has the jobs that may be submitted before others are done. Nil: any number.
	free *semaphore.Weighted
	// started is called by agents with the jobs that they got. It may be nil.
	started func(list []*jobpb.StartedJob)
}

func newJobLoad(b *JobsBench, s *jobServer) *jobLoad {
	return &jobLoad{bench: b, server: s, ledger: &jobLedger{}}
}

// run runs submitters and agents while measure runs. Then it ends the context of the submitters,
// lets the agents do what is left, and compares what the queue and the ledger have.
func (l *jobLoad) run(ctx context.Context, submitters []func(context.Context) error, measure func(context.Context) error) error {
	g, ctx := errgroup.WithContext(ctx)
	submit, stopSubmitters := context.WithCancel(ctx)
	poll, stopAgents := context.WithCancel(ctx)
	defer stopSubmitters()
	defer stopAgents()
	for i := range l.bench.Agents {
		g.Go(func() error { return l.agent(poll, fmt.Sprint("agent-", i)) })
	}
	var submitting sync.WaitGroup
	for _, fn := range submitters {
		submitting.Add(1)
		g.Go(func() error {
			defer submitting.Done()
			return fn(submit)
		})
	}
	g.Go(func() error {
		defer stopAgents()
		err := measure(ctx)
		stopSubmitters()
		submitting.Wait()
		if err != nil || ctx.Err() != nil {
			return err
		}
		return l.check(ctx)
	})
	return g.Wait()
}

// check waits until all jobs are done. It returns an error unless each submitted job is done once,
// by what the agents have reported, and as many by what the queue has counted.
func (l *jobLoad) check(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, drainLimit)
	defer cancel()
	for !l.ledger.drained() && pause.Poll(limited) {
	}
	q, err := l.server.queue(ctx)
	if err != nil {
		return err
	}
	if err := l.ledger.check(); err != nil {
		return fmt.Errorf("%w; the queue has counted %v", err, q.GetJobs())
	}
	if want := (&jobpb.JobCounts{Done: uint64(l.ledger.count())}); !proto.Equal(q.GetJobs(), want) {
		return fmt.Errorf("the queue has counted other jobs than the agents: %v, not %v", q.GetJobs(), want)
	}
	return nil
}

// submitters returns functions that submit batches for as long as their context lives, as fast as
// others are done: two for each of them and each agent, so that there is always one that waits.
func (l *jobLoad) submitters() (list []func(context.Context) error) {
	l.free = semaphore.NewWeighted(int64(2 * l.bench.Batch * (l.bench.Submitters + l.bench.Agents)))
	for range l.bench.Submitters {
		list = append(list, func(ctx context.Context) error {
			jobs := make([]*jobpb.NewJob, l.bench.Batch)
			for i := range jobs {
				jobs[i] = l.bench.job()
			}
			for l.free.Acquire(ctx, int64(len(jobs))) == nil {
				if err := l.submit(ctx, jobs); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return list
}

// job returns a job with a payload of random bytes, which compression cannot make smaller.
func (b *JobsBench) job() *jobpb.NewJob {
	payload := make([]byte, b.Payload)
	for i := range payload {
		payload[i] = byte(rand.Uint32()) //nolint:gosec // it is not a secret
	}
	return &jobpb.NewJob{Require: []string{resource(rand.IntN(signatures))}, Payload: payload} //nolint:gosec // it spreads jobs
}

func resource(i int) string { return fmt.Sprint("resource-", i) }

// submit submits jobs. The end of ctx does not interrupt it.
func (l *jobLoad) submit(ctx context.Context, jobs []*jobpb.NewJob) error {
	res, err := l.server.client.SubmitJobs(context.WithoutCancel(ctx), &jobpb.SubmitJobsRequest{Queue: benchQueue, Jobs: jobs})
	if err != nil {
		return err
	}
	return l.ledger.submit(res.GetIds())
}

// agent polls jobs and reports that they are done, until ctx ends.
func (l *jobLoad) agent(ctx context.Context, name string) error {
	req := &jobpb.PollJobsRequest{Queue: benchQueue, Agent: name, MaxJobs: int32(l.bench.Batch)}
	for i := range signatures {
		req.Has = append(req.Has, resource(i))
	}
	for {
		res, err := l.server.client.PollJobs(ctx, req)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the poll was interrupted
		case err != nil:
			return err
		case len(res.GetJobs()) == 0:
			continue
		}
		if l.started != nil {
			l.started(res.GetJobs())
		}
		if err := l.report(context.WithoutCancel(ctx), name, res.GetJobs()); err != nil {
			return err
		}
	}
}

// report reports that jobs are done. Like any agent, it repeats a report whose commit took too long
// for an answer.
func (l *jobLoad) report(ctx context.Context, agent string, jobs []*jobpb.StartedJob) error {
	for len(jobs) > 0 {
		req := &jobpb.ReportJobsRequest{Queue: benchQueue, Agent: agent}
		for _, j := range jobs {
			req.Reports = append(req.Reports, &jobpb.JobReport{Id: j.GetId(), Attempt: j.GetAttempt()})
		}
		res, err := l.server.client.ReportJobs(ctx, req)
		if err != nil {
			return err
		}
		if len(res.GetOutcomes()) != len(jobs) {
			return fmt.Errorf("%d reports have %d outcomes", len(jobs), len(res.GetOutcomes()))
		}
		var done []string
		var again []*jobpb.StartedJob
		for i, o := range res.GetOutcomes() {
			switch o.GetCode() {
			case "":
				done = append(done, o.GetId())
			case connect.CodeUnavailable.String(), connect.CodeResourceExhausted.String():
				again = append(again, jobs[i])
			default:
				return fmt.Errorf("the report of job %s was refused: %s: %s", o.GetId(), o.GetCode(), o.GetMessage())
			}
		}
		if err := l.ledger.finish(done); err != nil {
			return err
		}
		if l.free != nil {
			l.free.Release(int64(len(done)))
		}
		jobs = again
	}
	return nil
}

// readStates reads the states of jobs that are done, and returns their number.
func (l *jobLoad) readStates(ctx context.Context) (int, error) {
	ids, err := l.ledger.sample(api.MaxJobStates)
	if err != nil {
		return 0, err
	}
	res, err := l.server.client.GetJobStates(ctx, &jobpb.GetJobStatesRequest{Queue: benchQueue, Ids: ids})
	switch {
	case ctx.Err() != nil:
		return 0, nil //nolint:nilerr // the read was interrupted
	case err != nil:
		return 0, err
	case len(res.GetStates()) != len(ids):
		return 0, errors.New("an answer lacks jobs")
	}
	for i, x := range res.GetStates() {
		if x != jobpb.JobState_JOB_STATE_DONE {
			return 0, fmt.Errorf("job %s was reported as done, and is %s", ids[i], x)
		}
	}
	return len(ids), nil
}

// readJobs reads jobs that are done, and returns their number.
func (l *jobLoad) readJobs(ctx context.Context) (int, error) {
	ids, err := l.ledger.sample(api.MaxJobs)
	if err != nil {
		return 0, err
	}
	res, err := l.server.client.GetJobs(ctx, &jobpb.GetJobsRequest{Queue: benchQueue, Ids: ids})
	switch {
	case ctx.Err() != nil:
		return 0, nil //nolint:nilerr // the read was interrupted
	case err != nil:
		return 0, err
	case len(res.GetJobs()) != len(ids):
		return 0, errors.New("an answer lacks jobs")
	}
	for _, j := range res.GetJobs() {
		if j.GetState() != "done" {
			return 0, fmt.Errorf("job %s was reported as done, and is %s", j.GetId(), j.GetState())
		}
	}
	return len(ids), nil
}
