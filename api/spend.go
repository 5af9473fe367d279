package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
)

// spendService answers weir.v1.SpendService from a SpendSource.
type spendService struct {
	spend     SpendSource
	cluster   ClusterSource
	waitLimit time.Duration
}

// GetSpend gives one campaign's spend; see the proto for its errors.
func (s *spendService) GetSpend(ctx context.Context, req *connect.Request[weirpb.GetSpendRequest]) (*connect.Response[weirpb.GetSpendResponse], error) {
	q, err := newSpendQuery(req.Msg)
	if err != nil {
		return nil, err
	}
	if q.wait {
		if err := s.wait(ctx, q); err != nil {
			return nil, err
		}
	}
	t := newSpendAggregator(q)
	read, err := s.spend.Spend(ctx, SpendQuery{q.campaign, q.account, q.maxStaleness}, t.add)
	if err != nil {
		return nil, sourceError(err, "spend of "+q.subject())
	}
	if len(t.accounts) == 0 {
		return nil, s.notFound(ctx, q, read)
	}
	res, err := t.answer()
	if err != nil {
		return nil, withAsOf(err, read)
	}
	return connect.NewResponse(res), nil
}

// wait bounds the wait by the server's limit, whatever the caller allows: a caller that never gives up must not hold
// one of the limited requests for ever.
func (s *spendService) wait(ctx context.Context, q spendQuery) error {
	bounded, cancel := context.WithTimeout(ctx, s.waitLimit)
	defer cancel()
	err := s.spend.WaitProduced(bounded, q.account)
	if errors.Is(err, context.DeadlineExceeded) {
		return errorf(connect.CodeDeadlineExceeded, "what was produced before the question is not folded yet (waited up to %s): "+
			"look at the lag (weir lag) and ask again, or ask without wait for what is committed so far: %w", s.waitLimit, err)
	}
	if err != nil {
		return sourceError(err, "what was produced to "+q.subject())
	}
	return nil
}

// notFound is a statement about offsets, so without a partition that was read there is none to make.
func (s *spendService) notFound(ctx context.Context, q spendQuery, read []*weirpb.AsOf) error {
	if len(read) == 0 {
		return errorf(connect.CodeUnavailable, "spend of %s: no partition is readable here: "+
			"wait until the process is ready (/readyz), or ask another one (--server)", q.subject())
	}
	where := "here"
	if c, err := s.cluster.Cluster(ctx); err == nil && c.GetDc() != "" {
		where = fmt.Sprintf("in datacentre %s", c.GetDc())
	}
	err := errorf(connect.CodeNotFound, "%s has no spend %s, as of %s: check the id, or use wait (--wait) if it was just produced",
		q.subject(), where, asOfText(read))
	return withAsOf(err, read)
}

// asOfText says in a few words how far was read: "24 partitions (ads.events furthest in partition 4, up to offset
// 1234)". The offset is the next one, so not included. All topics of each partition are in the error's details.
func asOfText(read []*weirpb.AsOf) string {
	var most *weirpb.AsOf // nil: no partition says how far it is
	topic, furthest := "", int64(0)
	for _, at := range read {
		for name, next := range at.GetNextOffsets() {
			if events.OfAnyGeneration(name, events.EventsTopic) && (most == nil || next > furthest) {
				most, topic, furthest = at, name, next
			}
		}
	}
	partitions := fmt.Sprintf("%d partitions", len(read))
	if len(read) == 1 {
		partitions = fmt.Sprintf("partition %d", read[0].GetPartition())
	}
	if most == nil {
		return partitions
	}
	where := ""
	if len(read) > 1 {
		where = fmt.Sprintf(" furthest in partition %d,", most.GetPartition())
	}
	return fmt.Sprintf("%s (%s%s up to offset %d)", partitions, topic, where, furthest)
}
