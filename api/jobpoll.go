package api

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/queues"
)

// PollJobs returns jobs for an agent. weir.proto lists its errors.
func (s *jobService) PollJobs(ctx context.Context,
	req *connect.Request[jobpb.PollJobsRequest],
) (*connect.Response[jobpb.PollJobsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := proto.CloneOf(req.Msg)
	p, err := s.newJobPoll(ctx, m)
	if err != nil {
		return nil, err
	}
	ctx, done, err := s.parking.park(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	poll := s.pollAll
	if m.Partition != nil {
		poll = s.pollHere
	}
	res, err := poll(ctx, p)
	if err != nil {
		return nil, p.failed(ctx, err)
	}
	return connect.NewResponse(res), nil
}

// newJobPoll returns the poll of a request, which it changes.
func (s *jobService) newJobPoll(ctx context.Context, m *jobpb.PollJobsRequest) (p jobPoll, err error) {
	p.m = m
	m.MaxJobs = max(m.GetMaxJobs(), 1)
	if p.policy, err = policyOf(m.GetPolicy()); err != nil {
		return p, err
	}
	if p.end, err = pollEnd(m.GetWaitMs(), s.waitLimit); err != nil {
		return p, err
	}
	if m.Partition == nil {
		p.partitions, err = s.partitionsOf(ctx, m.GetQueue())
		return p, err
	}
	p.partitions = append([]int32{m.GetPartition()}, m.GetMorePartitions()...)
	return p, forwardedOnly(ctx)
}

// failed returns the error for the caller of a poll.
func (p *jobPoll) failed(ctx context.Context, err error) error {
	what := fmt.Sprintf("a poll of queue %.100q for agent %.100q", p.m.GetQueue(), p.m.GetAgent())
	return parkedError(ctx, jobError(err, what))
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

// park parks a poll in a shard of this process, until there are jobs, the poll ends or the round is
// over.
func (s *jobService) park(ctx context.Context, partition int32, r *pollRound) (*jobpb.PollJobsResponse, error) {
	m := r.m
	p, answer := queues.NewPoll(&r.ticket, m.GetQueue(), jobqueue.Profile{Has: m.GetHas(), Slots: int(m.GetSlots())},
		jobqueue.Poll{Agent: m.GetAgent(), N: int(m.GetMaxJobs()), Policy: r.policy, Delay: m.GetDelayMs()})
	p.Number = m.GetNumber()
	if err := s.source.Ask(ctx, partition, false, func(q *queues.Shard) error { return q.Poll(p) }); err != nil {
		return nil, err
	}
	timer := time.NewTimer(time.Until(r.end))
	defer timer.Stop()
	select {
	case a, open := <-answer:
		return s.answer(ctx, m, partition, movedUnless(open, a, partition))
	case <-timer.C:
	case <-r.ctx.Done():
	case <-ctx.Done():
	}
	if p.Abandon() {
		return &jobpb.PollJobsResponse{}, ctx.Err()
	}
	select { // the start of its jobs commits in a moment, or fails
	case a, open := <-answer:
		return s.answer(ctx, m, partition, movedUnless(open, a, partition))
	case <-ctx.Done():
		go func() { _, _ = s.answer(ctx, m, partition, <-answer) }() // takes the jobs back
		return nil, ctx.Err()
	}
}

// answer returns the answer of a poll. If the caller is gone, the jobs are taken back.
func (s *jobService) answer(ctx context.Context, m *jobpb.PollJobsRequest, p int32, a queues.Answer) (*jobpb.PollJobsResponse, error) {
	res, err := started(a, p)
	if ctx.Err() != nil {
		s.release(ctx, m, res.GetJobs())
		return nil, ctx.Err()
	}
	return res, err
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
