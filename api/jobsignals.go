package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
	"github.com/weirhq/weir/jobqueue/queues"
)

// GetSignals returns the rates of a queue, its alarms, and how many agents it needs.
func (s *jobService) GetSignals(ctx context.Context,
	req *connect.Request[jobpb.GetSignalsRequest],
) (*connect.Response[jobpb.GetSignalsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	m := req.Msg
	if m.Partition != nil {
		return forwarded(ctx, func() (*jobpb.GetSignalsResponse, error) { return s.shardSignals(ctx, m.GetQueue(), m.GetPartition()) })
	}
	partitions, err := s.partitionsOf(ctx, m.GetQueue())
	if err != nil {
		return nil, err
	}
	list, failed := collect(ctx, partitions, func(ctx context.Context, p int32) (*jobpb.GetSignalsResponse, error) {
		return s.shardSignals(ctx, m.GetQueue(), p)
	})
	if len(failed) == len(partitions) {
		return nil, failed.first()
	}
	out := sumSignals(list)
	out.Unread = failed.sorted()
	return connect.NewResponse(out), nil
}

// shardSignals returns the signals of one partition.
func (s *jobService) shardSignals(ctx context.Context, queue string, partition int32) (*jobpb.GetSignalsResponse, error) {
	res, err := shard[jobpb.GetSignalsResponse]{
		partition: partition,
		local: func(ctx context.Context) (r *jobpb.GetSignalsResponse, err error) {
			err = s.source.Ask(ctx, partition, false, func(q *queues.Shard) error {
				x, err := q.Signals(queue)
				r = newSignals(partition, &x)
				return err
			})
			return r, err
		},
		remote: func(ctx context.Context, c jobpbconnect.JobServiceClient) (*connect.Response[jobpb.GetSignalsResponse], error) {
			return c.GetSignals(ctx, connect.NewRequest(&jobpb.GetSignalsRequest{Queue: queue, Partition: &partition}))
		},
	}.run(ctx, s)
	if err != nil {
		return nil, jobError(err, fmt.Sprintf("queue %.100q in partition %d", queue, partition))
	}
	return res, nil
}

func newSignals(partition int32, x *queues.Signals) *jobpb.GetSignalsResponse {
	r := &jobpb.GetSignalsResponse{WaitTargetMs: x.Target.Milliseconds(), DrainMs: x.Drain.Milliseconds()}
	for i := range x.Classes {
		c := &x.Classes[i]
		r.Classes = append(r.Classes, &jobpb.JobClass{
			Require: c.Require, Pending: int64(c.Pending), Running: int64(c.Running), Arrivals: c.Arrivals, Trend: c.Trend,
			Starts: c.Starts, Done: c.Done, Failed: c.Failed, MeanMs: c.MeanMs, OldestMs: c.OldestMs, Agents: int32(c.Agents),
			Slots: int32(c.Slots), Want: int32(c.Want),
		})
	}
	for i := range x.Alarms {
		a := &x.Alarms[i]
		m := &jobpb.QueueAlarm{Partition: partition, Kind: a.Kind.String(), Subject: a.Subject, Text: a.Text, SinceMs: a.SinceMs}
		for k := range a.Factors {
			m.Factors = append(m.Factors, a.Factors[k].String())
		}
		r.Alarms = append(r.Alarms, m)
	}
	return r
}

// sumSignals returns the signals of a queue, from those of its partitions. Agents poll all of them.
func sumSignals(list []*jobpb.GetSignalsResponse) *jobpb.GetSignalsResponse {
	out := &jobpb.GetSignalsResponse{WaitTargetMs: list[0].GetWaitTargetMs(), DrainMs: list[0].GetDrainMs()}
	sums := map[string]*jobpb.JobClass{}
	for _, r := range list {
		for _, c := range r.GetClasses() {
			key := strings.Join(c.GetRequire(), "\x00")
			if sum := sums[key]; sum != nil {
				addClass(sum, c)
			} else {
				sums[key] = c
			}
		}
		out.Alarms = append(out.Alarms, r.GetAlarms()...)
	}
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		c := sums[key]
		x := jobqueue.ClassSignals{
			Pending: int(c.GetPending()), Running: int(c.GetRunning()), Arrivals: c.GetArrivals(), Trend: c.GetTrend(),
			MeanMs: c.GetMeanMs(),
		}
		target, drain := time.Duration(out.GetWaitTargetMs())*time.Millisecond, time.Duration(out.GetDrainMs())*time.Millisecond
		c.Want = int32(x.Load(target, drain).Slots())
		out.Classes = append(out.Classes, c)
	}
	slices.SortStableFunc(out.Alarms, func(a, b *jobpb.QueueAlarm) int {
		return cmp.Or(cmp.Compare(a.GetSinceMs(), b.GetSinceMs()), cmp.Compare(a.GetPartition(), b.GetPartition()))
	})
	return out
}

// addClass adds a class of another partition. The mean is weighted by the attempts that end.
func addClass(sum, c *jobpb.JobClass) {
	a, b := sum.GetDone()+sum.GetFailed(), c.GetDone()+c.GetFailed()
	switch {
	case sum.GetMeanMs() == 0 || a == 0 && b > 0 && c.GetMeanMs() > 0:
		sum.MeanMs = c.GetMeanMs()
	case c.GetMeanMs() > 0 && a+b > 0:
		sum.MeanMs = (sum.GetMeanMs()*a + c.GetMeanMs()*b) / (a + b)
	}
	sum.Pending, sum.Running = sum.GetPending()+c.GetPending(), sum.GetRunning()+c.GetRunning()
	sum.Arrivals, sum.Trend, sum.Starts = sum.GetArrivals()+c.GetArrivals(), sum.GetTrend()+c.GetTrend(), sum.GetStarts()+c.GetStarts()
	sum.Done, sum.Failed = sum.GetDone()+c.GetDone(), sum.GetFailed()+c.GetFailed()
	sum.OldestMs = max(sum.GetOldestMs(), c.GetOldestMs())
	switch {
	case sum.GetAgents() == 0:
		sum.Slots = c.GetSlots()
	case c.GetAgents() > 0 && (sum.GetSlots() == 0 || c.GetSlots() == 0): // no limit
		sum.Slots = 0
	default:
		sum.Slots = max(sum.GetSlots(), c.GetSlots())
	}
	sum.Agents = max(sum.GetAgents(), c.GetAgents())
}
