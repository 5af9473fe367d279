package api

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/queues"
)

// Waits of a poll.
const (
	// turn is how long a poll of a queue of several partitions waits in one of them.
	turn = time.Second
	// forgetLimit is the time limit for taking back a poll that waits no longer.
	forgetLimit = 5 * time.Second
)

// PollJobs returns jobs for an agent. weir.proto lists its errors.
func (s *jobService) PollJobs(ctx context.Context,
	req *connect.Request[weirpb.PollJobsRequest],
) (*connect.Response[weirpb.PollJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := proto.CloneOf(req.Msg)
	policy, err := policyOf(m.GetPolicy())
	if err != nil {
		return nil, err
	}
	m.MaxJobs = max(m.GetMaxJobs(), 1)
	wait := min(time.Duration(m.GetWaitMs())*time.Millisecond, s.waitLimit)
	switch {
	case m.GetWaitMs() < 0:
		return nil, invalid("wait_ms %d is negative: use a number of milliseconds, or omit it for %d", m.GetWaitMs(),
			defaultPollWait.Milliseconds())
	case m.GetWaitMs() == 0:
		wait = min(defaultPollWait, s.waitLimit)
	case m.GetWaitMs() > s.waitLimit.Milliseconds(): // the product above may have wrapped
		wait = s.waitLimit
	}
	partitions := []int32{m.GetPartition()}
	if m.Partition == nil {
		if partitions, err = s.partitionsOf(ctx, m.GetQueue()); err != nil {
			return nil, err
		}
	}
	leave, err := s.parking.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := s.parking.untilStop(ctx)
	defer cancel()
	res, err := s.pollEach(ctx, m, jobPoll{policy, partitions, time.Now().Add(wait)})
	if err != nil {
		err = whyEnded(ctx, jobError(err, fmt.Sprintf("a poll of queue %q for agent %q", m.GetQueue(), m.GetAgent())))
		if connect.CodeOf(err) == connect.CodeUnavailable {
			err = retryLater(err)
		}
		return nil, err
	}
	return connect.NewResponse(res), nil
}

func policyOf(name string) (jobqueue.Policy, error) {
	switch name {
	case "wait":
		return jobqueue.Wait, nil
	case "greedy", "":
		return jobqueue.Greedy, nil
	case "delay":
		return jobqueue.Patient, nil
	}
	return 0, invalid("policy %.40q is not known: use wait, greedy or delay", name)
}

// jobPoll is a poll of an agent.
type jobPoll struct {
	policy     jobqueue.Policy
	partitions []int32
	end        time.Time
}

// pollEach polls the partitions of a queue, one after the other, each for a turn, until one has a
// job. Agents begin at different ones.
func (s *jobService) pollEach(ctx context.Context, m *weirpb.PollJobsRequest, p jobPoll) (*weirpb.PollJobsResponse, error) {
	n := len(p.partitions)
	first := int(xxhash.Sum64String(m.GetAgent()) % uint64(n))
	for i := 0; ; i++ {
		end := p.end
		if n > 1 {
			end = time.Now() // all of them at once, and then each for a turn
			if i >= n {
				end = end.Add(turn)
			}
			if end.After(p.end) {
				end = p.end
			}
		}
		res, err := s.pollShard(ctx, m, pollTurn{p.policy, p.partitions[(first+i)%n], end})
		if err != nil || len(res.GetJobs()) > 0 || i >= n-1 && !time.Now().Before(p.end) {
			return res, err
		}
	}
}

// pollTurn is the part of a poll at one partition.
type pollTurn struct {
	policy    jobqueue.Policy
	partition int32
	end       time.Time
}

// pollShard polls one partition.
func (s *jobService) pollShard(ctx context.Context, m *weirpb.PollJobsRequest, t pollTurn) (*weirpb.PollJobsResponse, error) {
	return shard[weirpb.PollJobsResponse]{
		partition: t.partition, limit: time.Until(t.end) + forwardTimeout,
		local: func(ctx context.Context) (*weirpb.PollJobsResponse, error) { return s.park(ctx, m, t) },
		remote: func(ctx context.Context, c weirpbconnect.JobServiceClient) (*connect.Response[weirpb.PollJobsResponse], error) {
			m := proto.CloneOf(m)
			m.Partition, m.WaitMs = &t.partition, max(1, time.Until(t.end).Milliseconds())
			return c.PollJobs(ctx, connect.NewRequest(m))
		},
	}.run(ctx, s)
}

// park parks a poll in a shard of this process.
func (s *jobService) park(ctx context.Context, m *weirpb.PollJobsRequest, t pollTurn) (*weirpb.PollJobsResponse, error) {
	p, answer := queues.NewPoll(m.GetQueue(), jobqueue.Profile{Has: m.GetHas(), Slots: int(m.GetSlots())},
		jobqueue.Poll{Agent: m.GetAgent(), N: int(m.GetMaxJobs()), Policy: t.policy, Delay: m.GetDelayMs()})
	if err := s.source.Ask(ctx, t.partition, false, func(q *queues.Shard) error { return q.Poll(p) }); err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Until(t.end))
	defer timer.Stop()
	select {
	case a, open := <-answer:
		return s.started(a, open, t.partition)
	case <-timer.C:
	case <-ctx.Done():
	}
	// The caller waits no longer. If jobs were started for it just now, they are its answer, or are
	// returned.
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetLimit)
	defer cancel()
	picked := false
	err := s.source.Ask(late, t.partition, false, func(q *queues.Shard) error { picked = q.Forget(p); return nil })
	if err != nil || !picked {
		return &weirpb.PollJobsResponse{}, ctx.Err()
	}
	select {
	case a, open := <-answer:
		res, err := s.started(a, open, t.partition)
		if err == nil && ctx.Err() != nil {
			s.giveBack(late, m, t.partition, a.Jobs)
		}
		return res, err
	case <-late.Done():
		return nil, late.Err()
	}
}

// giveBack returns jobs whose agent has gone: their attempts do not count.
func (s *jobService) giveBack(ctx context.Context, m *weirpb.PollJobsRequest, partition int32, jobs []queues.Job) {
	_ = s.source.Ask(ctx, partition, false, func(q *queues.Shard) error { // otherwise their leases end
		for i := range jobs {
			_ = q.Return(&queues.Attempt{Queue: m.GetQueue(), Agent: m.GetAgent(), ID: jobs[i].ID, Attempt: jobs[i].Attempt})
		}
		return nil
	})
}

// started returns the answer of a poll.
func (s *jobService) started(a queues.Answer, open bool, partition int32) (*weirpb.PollJobsResponse, error) {
	if !open {
		moved := PartitionGap{Partition: partition, State: StateRemote, Reason: "it has moved during the poll"}
		return nil, &PartitionsError{Gaps: []PartitionGap{moved}}
	}
	if a.Err != nil {
		return nil, a.Err
	}
	res := &weirpb.PollJobsResponse{}
	for i := range a.Jobs {
		j := &a.Jobs[i]
		spec := j.GetSpec()
		res.Jobs = append(res.Jobs, &weirpb.StartedJob{
			Id: JobID{partition, j.ID}.String(), Attempt: uint32(j.Attempt), LeaseUntilMs: j.UntilMs, Payload: j.Payload,
			SubmittedMs: j.GetSubmittedMs(), Require: spec.GetRequire(), Prefer: spec.GetPrefer(), Key: spec.GetKey(),
			Group: spec.GetGroup(),
		})
	}
	return res, nil
}
