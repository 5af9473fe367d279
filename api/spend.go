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

// spendService implements weir.v1.SpendService and weir.v1.AdjustmentService.
type spendService struct {
	spend       SpendSource
	adjustments AdjustmentSource // nil: this process serves no adjustments
	cache       SpendCacheSource // nil: this process has no spend cache
	cluster     ClusterSource
	router      *Router // nil: there are no lists
	waitLimit   time.Duration
	parking     *parking
}

// GetSpend returns the spend of one campaign. weir.proto lists its errors.
func (s *spendService) GetSpend(ctx context.Context,
	req *connect.Request[weirpb.GetSpendRequest],
) (*connect.Response[weirpb.GetSpendResponse], error) {
	q, err := newSpendQuery(req.Msg)
	if err != nil {
		return nil, err
	}
	res, err := s.campaign(ctx, q)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

// campaign answers a query: from the counter of this datacentre, or from the spend cache if that
// uses the dataset of another one. With wait it is from the counter, and so is a long poll, which
// waits for the counter's commits.
func (s *spendService) campaign(ctx context.Context, q spendQuery) (*weirpb.GetSpendResponse, error) {
	if s.cache != nil && !q.wait && !q.counter && s.cache.Away(q.account) {
		res, err := cachedSpend(ctx, s.cache, q)
		if connect.CodeOf(err) != connect.CodeUnavailable {
			return res, err
		}
	}
	if q.wait {
		if err := s.wait(ctx, q.account, "spend of "+q.subject()); err != nil {
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
	return res, nil
}

// wait waits at most for the server's limit, whatever the caller allows, so that a caller without a
// deadline does not occupy one of the limited requests for ever. The request is parked.
func (s *spendService) wait(ctx context.Context, account, what string) error {
	ctx, done, err := s.parking.park(ctx)
	if err != nil {
		return err
	}
	defer done()
	bounded, cancel := context.WithTimeout(ctx, s.waitLimit)
	defer cancel()
	err = s.spend.WaitProduced(bounded, account)
	if errors.Is(err, context.DeadlineExceeded) {
		return errorf(connect.CodeDeadlineExceeded, "records that were produced before the request are not folded yet (waited up to %s): "+
			"look at the lag of the partitions and send the request again, or omit wait to read what is committed: %w", s.waitLimit, err)
	}
	if err != nil {
		return parkedError(ctx, sourceError(err, what))
	}
	return nil
}

// notFound is a statement about offsets. Without a partition that was read, the answer is
// Unavailable.
func (s *spendService) notFound(ctx context.Context, q spendQuery, read []*weirpb.AsOf) error {
	if len(read) == 0 {
		return errorf(connect.CodeUnavailable, "spend of %s: this process can read no partition: "+
			"wait until it is ready (/readyz), or send the request to another process", q.subject())
	}
	where := "here"
	if c, err := s.cluster.Cluster(ctx); err == nil && c.GetDc() != "" {
		where = fmt.Sprintf("in datacentre %s", c.GetDc())
	}
	err := errorf(connect.CodeNotFound,
		"%s has no spend %s, as of %s: check the id; events that were produced just now may not be counted yet",
		q.subject(), where, asOfText(read))
	return withAsOf(err, read)
}

// asOfText describes how far was read: "24 partitions (ads.events up to offset 1234; the greatest
// is in partition 4)". The offset is the next one, so it is not included. The error's details have
// all topics of each partition.
func asOfText(read []*weirpb.AsOf) string {
	var most *weirpb.AsOf // nil: no partition has offsets
	topic, furthest := "", int64(0)
	for _, at := range read {
		for name, next := range at.GetNextOffsets() {
			if events.IsAnyGenerationOf(name, events.EventsTopic) && (most == nil || next > furthest) {
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
		where = fmt.Sprintf("; the greatest is in partition %d", most.GetPartition())
	}
	return fmt.Sprintf("%s (%s up to offset %d%s)", partitions, topic, furthest, where)
}
