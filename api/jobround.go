package api

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
	"github.com/weirhq/weir/jobqueue/queues"
)

// Limits of a poll of several partitions.
const (
	// againAfter is the time after which a poll that some partitions could not take begins again.
	againAfter = time.Second
	// endLimit is the time limit for ending a poll at another process. What the process starts for
	// it later is taken back there.
	endLimit = 300 * time.Millisecond
	// releaseLimit is the time limit for taking back jobs that the caller does not get.
	releaseLimit = 5 * time.Second
)

// jobPoll is a poll of an agent.
type jobPoll struct {
	m          *jobpb.PollJobsRequest
	policy     jobqueue.Policy
	partitions []int32
	end        time.Time
}

// pollRound is a poll of partitions at the same time, until one of them has jobs:
//
//	            ┌─ this process: a parked poll in each of its partitions, with one ticket
//	PollJobs ───┤
//	            └─ each other process: one forwarded request about its partitions ─▶ the same there
//
// The jobs of one partition end the polls of all others. Another process may have started jobs at
// that moment: they come with its answer, and those that are too many are taken back.
type pollRound struct {
	jobPoll

	number uint64
	ticket queues.Ticket
	ctx    context.Context // its end ends the round, and no job is lost
	stop   context.CancelFunc
	missed atomic.Int32 // partitions that have not taken the poll
}

func newPollRound(ctx context.Context, p jobPoll) *pollRound {
	r := &pollRound{jobPoll: p, number: rand.Uint64()} //nolint:gosec // a name
	r.ctx, r.stop = context.WithCancel(ctx)
	return r
}

// note ends the round if the result of some partitions requires it. If they have not taken the
// poll, the others wait for a moment only: then the next round polls all of them. A process that
// has ended its part early has waited for that moment.
func (r *pollRound) note(ctx context.Context, res *jobpb.PollJobsResponse, err error, partitions int) {
	switch {
	case len(res.GetJobs()) > 0, err != nil && !passing(ctx, err):
		r.stop()
	case err == nil && (r.ctx.Err() != nil || !time.Now().Before(r.end)): // without jobs
	case err == nil:
		r.stop()
	case int(r.missed.Add(int32(partitions))) == len(r.partitions):
		r.stop()
	default:
		time.AfterFunc(againAfter, r.stop)
	}
}

// result returns the jobs of all results, or else an error that ends the poll, or else the first
// one, if all have failed.
func (r *pollRound) result(ctx context.Context, list []*jobpb.PollJobsResponse, failed partitionErrors) (*jobpb.PollJobsResponse, error) {
	out := &jobpb.PollJobsResponse{}
	for _, res := range list {
		out.Jobs = append(out.Jobs, res.GetJobs()...)
	}
	if len(out.GetJobs()) > 0 {
		return out, nil
	}
	for _, p := range failed.sorted() {
		if !passing(ctx, failed[p]) {
			return nil, failed[p]
		}
	}
	if len(list) == 0 {
		return nil, failed.first()
	}
	return out, nil
}

// passing reports whether an error of a partition may pass, and does not end a poll.
func passing(ctx context.Context, err error) bool {
	code := connect.CodeOf(jobError(err, ""))
	return ctx.Err() == nil && (code == connect.CodeUnavailable || code == connect.CodeResourceExhausted)
}

// pollAll polls the partitions of a queue. With several it asks one of them first, which has a job
// while there are many: each poll the next one, otherwise a partition at which no agent begins
// would wait until the others have no job. Then it polls all of them at once.
func (s *jobService) pollAll(ctx context.Context, p jobPoll) (*jobpb.PollJobsResponse, error) {
	n := uint32(len(p.partitions))
	first := jobPoll{p.m, p.policy, []int32{p.partitions[s.turns.Add(1)%n]}, p.end}
	if n > 1 {
		first.end = time.Now()
	}
	res, err := s.pollShard(ctx, first)
	if n == 1 || len(res.GetJobs()) > 0 || err != nil && !passing(ctx, err) {
		return res, err
	}
	for refresh := false; ; refresh = true {
		res, err := s.pollTargets(ctx, newPollRound(ctx, p), s.targets(ctx, p.partitions, refresh))
		if err != nil || len(res.GetJobs()) > 0 || !time.Now().Before(p.end) {
			return res, err
		}
	}
}

// pollShard polls one partition, wherever it is.
func (s *jobService) pollShard(ctx context.Context, p jobPoll) (*jobpb.PollJobsResponse, error) {
	return shard[jobpb.PollJobsResponse]{
		partition: p.partitions[0], limit: time.Until(p.end) + forwardTimeout,
		local: func(ctx context.Context) (*jobpb.PollJobsResponse, error) { return s.pollHere(ctx, p) },
		remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.PollJobsResponse], error) {
			return c.PollJobs(ctx, connect.NewRequest(p.forwarded()))
		},
	}.run(ctx, s)
}

// forwarded returns the request for another process.
func (p *jobPoll) forwarded() *jobpb.PollJobsRequest {
	m := proto.CloneOf(p.m)
	m.Partition, m.MorePartitions, m.WaitMs = &p.partitions[0], p.partitions[1:], max(1, time.Until(p.end).Milliseconds())
	return m
}

// pollHere polls partitions of this process.
func (s *jobService) pollHere(ctx context.Context, p jobPoll) (*jobpb.PollJobsResponse, error) {
	r := newPollRound(ctx, p)
	defer r.stop()
	return s.parkAll(ctx, r, p.partitions)
}

// parkAll polls partitions of this process, which are some of the round.
func (s *jobService) parkAll(ctx context.Context, r *pollRound, partitions []int32) (*jobpb.PollJobsResponse, error) {
	list, failed := collect(ctx, partitions, func(ctx context.Context, partition int32) (*jobpb.PollJobsResponse, error) {
		res, err := s.park(ctx, partition, r)
		r.note(ctx, res, err, 1)
		return res, err
	})
	return r.result(ctx, list, failed)
}

// pollTarget is a process with partitions of a queue.
type pollTarget struct {
	Peer // without a name: this process

	partitions []int32
}

// targets returns where partitions are. Those whose owner is not known count as partitions of this
// process, which then reports that it does not have them.
func (s *jobService) targets(ctx context.Context, partitions []int32, refresh bool) []pollTarget {
	peers, _ := s.router.peers.get(ctx, refresh) // with an error, those that were known
	list := []pollTarget{{}}
	at := map[string]int{s.router.info.Instance: 0, "": 0}
	for _, p := range partitions {
		o, _ := owner(peers, p)
		i, ok := at[o.Instance]
		if !ok {
			i = len(list)
			at[o.Instance] = i
			list = append(list, pollTarget{Peer: o})
		}
		list[i].partitions = append(list[i].partitions, p)
	}
	return list
}

// pollTargets polls the partitions of a round.
func (s *jobService) pollTargets(ctx context.Context, r *pollRound, targets []pollTarget) (*jobpb.PollJobsResponse, error) {
	defer r.stop()
	var numbers []int32
	for i := range targets {
		if len(targets[i].partitions) > 0 {
			numbers = append(numbers, int32(i))
		}
	}
	list, failed := collect(ctx, numbers, func(ctx context.Context, i int32) (*jobpb.PollJobsResponse, error) {
		if i == 0 {
			return s.parkAll(ctx, r, targets[0].partitions)
		}
		res, err := s.pollThere(ctx, r, &targets[i])
		r.note(ctx, res, err, len(targets[i].partitions))
		return res, err
	})
	out, err := r.result(ctx, list, failed)
	keep := int(r.m.GetMaxJobs())
	if ctx.Err() != nil {
		keep, err = 0, ctx.Err()
	}
	if jobs := out.GetJobs(); len(jobs) > keep {
		go s.release(ctx, r.m, jobs[keep:])
		out.Jobs = jobs[:keep]
	}
	return out, err
}

// pollThere polls the partitions of another process.
func (s *jobService) pollThere(ctx context.Context, r *pollRound, at *pollTarget) (*jobpb.PollJobsResponse, error) {
	bounded, cancel := context.WithTimeout(ctx, time.Until(r.end)+forwardTimeout)
	defer cancel()
	c := s.router.client(at.Peer).jobs
	request := (&jobPoll{m: r.m, partitions: at.partitions, end: r.end}).forwarded()
	request.Number = r.number
	end := &jobpb.EndPollsRequest{Queue: r.m.GetQueue(), Agent: r.m.GetAgent(), Partitions: at.partitions, Number: r.number}
	defer context.AfterFunc(r.ctx, func() { //nolint:contextcheck // of the forwarded request, which this ends
		limited, stop := context.WithTimeout(bounded, endLimit)
		defer stop()
		_, _ = c.EndPolls(limited, connect.NewRequest(end)) // the answer comes at once, with jobs that were started for it
		<-limited.Done()
		cancel()
	})()
	res, err := c.PollJobs(bounded, connect.NewRequest(request))
	switch {
	case err == nil:
		return res.Msg, nil
	case cannotAnswer(ctx, err):
		return nil, errorf(connect.CodeUnavailable, "%s at %s cannot answer: %s", at.Instance, at.Endpoint, message(err))
	}
	return nil, err
}

// release takes back jobs that were started for a poll, and that the agent does not get. The
// attempts of those that cannot be taken back end with their leases.
func (s *jobService) release(ctx context.Context, m *jobpb.PollJobsRequest, jobs []*jobpb.StartedJob) {
	attempts := map[int32][]*jobpb.JobAttempt{}
	for _, j := range jobs {
		if id, err := ParseJobID(j.GetId()); err == nil {
			attempts[id.Partition] = append(attempts[id.Partition], &jobpb.JobAttempt{Id: j.GetId(), Attempt: j.GetAttempt()})
		}
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseLimit)
	defer cancel()
	for p, list := range attempts {
		end := &jobpb.EndPollsRequest{Queue: m.GetQueue(), Agent: m.GetAgent(), Partitions: []int32{p}, Release: list}
		_, _ = s.endPolls(late, end)
	}
}

// EndPolls ends a poll in partitions of this process, or takes jobs back.
func (s *jobService) EndPolls(ctx context.Context,
	req *connect.Request[jobpb.EndPollsRequest],
) (*connect.Response[jobpb.EndPollsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	if !requestMetaOf(ctx).forwarded {
		return nil, invalid("EndPolls is for processes that forward polls: an agent closes its connection to end one")
	}
	res, err := s.endPolls(ctx, req.Msg)
	if err != nil {
		return nil, jobError(err, "the end of a poll")
	}
	return connect.NewResponse(res), nil
}

// endPolls ends a poll, or takes jobs back, wherever the partitions are.
func (s *jobService) endPolls(ctx context.Context, m *jobpb.EndPollsRequest) (*jobpb.EndPollsResponse, error) {
	failed := eachPartition(ctx, m.GetPartitions(), func(ctx context.Context, partition int32) error {
		_, err := shard[jobpb.EndPollsResponse]{
			partition: partition,
			local: func(ctx context.Context) (*jobpb.EndPollsResponse, error) {
				return nil, s.source.Ask(ctx, partition, false, func(q *queues.Shard) error { return endIn(q, m) })
			},
			remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.EndPollsResponse], error) {
				return c.EndPolls(ctx, connect.NewRequest(m))
			},
		}.run(ctx, s)
		return err
	})
	return &jobpb.EndPollsResponse{}, failed.join()
}

// endIn ends the poll of an agent in a shard, or takes jobs back.
func endIn(q *queues.Shard, m *jobpb.EndPollsRequest) error {
	for _, a := range m.GetRelease() {
		id, err := ParseJobID(a.GetId())
		if err != nil {
			return err
		}
		_ = q.Release(&queues.Attempt{ // an attempt that is over needs no release
			Queue: m.GetQueue(), Agent: m.GetAgent(), ID: id.Number, Attempt: uint8(a.GetAttempt()),
		})
	}
	if m.GetNumber() == 0 {
		return nil
	}
	return q.EndPoll(m.GetQueue(), m.GetAgent(), m.GetNumber())
}
