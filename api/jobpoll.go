package api

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
	"github.com/weirhq/weir/jobqueue/queues"
)

// Waits of a poll.
const (
	// turn is how long a poll of a queue of several partitions waits in one of them.
	turn = time.Second
	// releaseLimit is the time limit for taking back the jobs of a caller that is gone.
	releaseLimit = 5 * time.Second
)

// PollJobs returns jobs for an agent. weir.proto lists its errors.
func (s *jobService) PollJobs(ctx context.Context,
	req *connect.Request[jobpb.PollJobsRequest],
) (*connect.Response[jobpb.PollJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := proto.CloneOf(req.Msg)
	policy, err := policyOf(m.GetPolicy())
	if err != nil {
		return nil, err
	}
	m.MaxJobs = max(m.GetMaxJobs(), 1)
	end, err := pollEnd(m.GetWaitMs(), s.waitLimit)
	if err != nil {
		return nil, err
	}
	partitions := []int32{m.GetPartition()}
	if m.Partition == nil {
		if partitions, err = s.partitionsOf(ctx, m.GetQueue()); err != nil {
			return nil, err
		}
	} else if err := forwardedOnly(ctx); err != nil {
		return nil, err
	}
	leave, err := s.parking.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := s.parking.untilStop(ctx)
	defer cancel()
	res, err := s.pollEach(ctx, m, jobPoll{policy, partitions, end})
	if err != nil {
		err = whyEnded(ctx, jobError(err, fmt.Sprintf("a poll of queue %.100q for agent %.100q", m.GetQueue(), m.GetAgent())))
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
// job. Each poll begins at the next one: otherwise a partition at which no agent begins would have
// to wait until the others have no job. A partition that cannot be asked is left out; if none can
// be, the result is the error of the last one.
func (s *jobService) pollEach(ctx context.Context, m *jobpb.PollJobsRequest, p jobPoll) (*jobpb.PollJobsResponse, error) {
	n := len(p.partitions)
	first := int(s.turns.Add(1) % uint32(n))
	failed := 0 // in a row
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
		switch code := connect.CodeOf(jobError(err, "")); {
		case err == nil:
			failed = 0
		case ctx.Err() != nil || code != connect.CodeUnavailable && code != connect.CodeResourceExhausted:
			return nil, err
		default:
			if failed++; failed >= n {
				return nil, err
			}
		}
		if len(res.GetJobs()) > 0 || i >= n-1 && !time.Now().Before(p.end) {
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
func (s *jobService) pollShard(ctx context.Context, m *jobpb.PollJobsRequest, t pollTurn) (*jobpb.PollJobsResponse, error) {
	return shard[jobpb.PollJobsResponse]{
		partition: t.partition, limit: time.Until(t.end) + forwardTimeout,
		local: func(ctx context.Context) (*jobpb.PollJobsResponse, error) { return s.park(ctx, m, t) },
		remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.PollJobsResponse], error) {
			m := proto.CloneOf(m)
			m.Partition, m.WaitMs = &t.partition, max(1, time.Until(t.end).Milliseconds())
			return c.PollJobs(ctx, connect.NewRequest(m))
		},
	}.run(ctx, s)
}

// park parks a poll in a shard of this process.
func (s *jobService) park(ctx context.Context, m *jobpb.PollJobsRequest, t pollTurn) (*jobpb.PollJobsResponse, error) {
	p, answer := queues.NewPoll(m.GetQueue(), jobqueue.Profile{Has: m.GetHas(), Slots: int(m.GetSlots())},
		jobqueue.Poll{Agent: m.GetAgent(), N: int(m.GetMaxJobs()), Policy: t.policy, Delay: m.GetDelayMs()})
	if err := s.source.Ask(ctx, t.partition, false, func(q *queues.Shard) error { return q.Poll(p) }); err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Until(t.end))
	defer timer.Stop()
	select {
	case a, open := <-answer:
		return s.answer(ctx, m, t.partition, movedUnless(open, a, t.partition))
	case <-timer.C:
	case <-ctx.Done():
	}
	if p.Abandon() {
		return &jobpb.PollJobsResponse{}, ctx.Err()
	}
	select { // the start of its jobs commits in a moment, or fails
	case a, open := <-answer:
		return s.answer(ctx, m, t.partition, movedUnless(open, a, t.partition))
	case <-ctx.Done():
		go func() { _, _ = s.answer(ctx, m, t.partition, <-answer) }() // takes the jobs back
		return nil, ctx.Err()
	}
}

// answer returns the answer of a poll. If the caller is gone, the jobs are taken back.
func (s *jobService) answer(ctx context.Context, m *jobpb.PollJobsRequest, p int32, a queues.Answer) (*jobpb.PollJobsResponse, error) {
	if ctx.Err() == nil {
		return started(a, p)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	_ = s.source.Ask(late, p, false, func(q *queues.Shard) error { // otherwise their leases end
		for i := range a.Jobs {
			_ = q.Release(&queues.Attempt{Queue: m.GetQueue(), Agent: m.GetAgent(), ID: a.Jobs[i].ID, Attempt: a.Jobs[i].Attempt})
		}
		return nil
	})
	return nil, ctx.Err()
}

// movedUnless returns an answer, or the error of a poll whose channel was closed without one.
func movedUnless(open bool, a queues.Answer, partition int32) queues.Answer {
	if !open {
		moved := PartitionGap{Partition: partition, State: StateRemote, Reason: "it has moved during the poll"}
		a.Err = &PartitionsError{Gaps: []PartitionGap{moved}}
	}
	return a
}

// started returns the response with the jobs of an answer.
func started(a queues.Answer, partition int32) (*jobpb.PollJobsResponse, error) {
	if a.Err != nil {
		return nil, a.Err
	}
	res := &jobpb.PollJobsResponse{}
	for i := range a.Jobs {
		j := &a.Jobs[i]
		spec := j.GetSpec()
		res.Jobs = append(res.Jobs, &jobpb.StartedJob{
			Id: JobID{partition, j.ID}.String(), Attempt: uint32(j.Attempt), LeaseUntilMs: j.UntilMs, LeaseMs: j.LeaseMs,
			Payload: j.Payload, SubmittedMs: j.GetSubmittedMs(), Require: spec.GetRequire(), Prefer: spec.GetPrefer(), Key: spec.GetKey(),
			Group: spec.GetGroup(),
		})
	}
	return res, nil
}
