package api

import (
	"context"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
)

// spendPoll is a validated PollSpendRequest.
type spendPoll struct {
	spendQuery
	version string    // empty: answer at once
	end     time.Time // of the wait
}

func (s *spendService) newSpendPoll(m *weirpb.PollSpendRequest) (p spendPoll, err error) {
	if p.spendQuery, err = newSpendQuery(m.GetSpend()); err != nil {
		return p, err
	}
	p.counter = true // its commits end the wait
	if p.end, err = pollEnd(m.GetWaitMs(), s.waitLimit); err != nil {
		return p, err
	}
	p.version = m.GetVersion()
	switch {
	case p.version == "":
	case p.account == "":
		return p, invalid("a poll with a version needs the account: set spend.account to the account of the answer that has the version")
	case p.wait || p.maxStaleness > 0:
		return p, invalid(
			"spend.wait and spend.max_staleness_ms are for a poll without a version: omit them, because a poll with a version waits for commits of the owner")
	}
	return p, nil
}

// PollSpend returns the spend of one campaign as soon as it is not what the caller has. weir.proto
// lists its errors.
func (s *spendService) PollSpend(ctx context.Context,
	req *connect.Request[weirpb.PollSpendRequest],
) (*connect.Response[weirpb.PollSpendResponse], error) {
	p, err := s.newSpendPoll(req.Msg)
	if err != nil {
		return nil, err
	}
	if p.version == "" {
		res, err := s.campaign(ctx, p.spendQuery)
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(&weirpb.PollSpendResponse{Spend: res, Version: versionOf(res)}), nil
	}
	if s.router == nil {
		return nil, errNoRouter()
	}
	ctx, done, err := s.parking.park(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	res, err := s.parkedPoll(ctx, p, req.Msg)
	if err != nil {
		return nil, parkedError(ctx, sourceError(err, "spend of "+p.subject()))
	}
	return connect.NewResponse(res), nil
}

// parkedPoll waits in this process, or in the owner of the account's partition. If the partition
// moves during the wait, it asks the new owner.
func (s *spendService) parkedPoll(ctx context.Context, p spendPoll, m *weirpb.PollSpendRequest) (*weirpb.PollSpendResponse, error) {
	watch := SpendWatch{events.Shard(p.account, s.router.info.Partitions), p.account, p.campaign}
	return lookup[*weirpb.PollSpendResponse]{
		partition: watch.Partition, limit: time.Until(p.end) + forwardTimeout,
		local: func(ctx context.Context, _ time.Duration) (*weirpb.PollSpendResponse, error) {
			for {
				res, err := s.nextVersion(ctx, p, watch)
				if res != nil || err != nil {
					return res, err
				}
			}
		},
		remote: func(ctx context.Context, c peerClient) (*weirpb.PollSpendResponse, error) {
			m := proto.CloneOf(m)
			m.WaitMs = max(1, time.Until(p.end).Milliseconds())
			res, err := c.spend.PollSpend(ctx, connect.NewRequest(m))
			if err != nil {
				return nil, err
			}
			return res.Msg, nil
		},
	}.run(ctx, s.router)
}

// nextVersion waits for an answer with another version than the caller's. It returns nil if the
// source reports no more commits. It watches before it reads, so that no commit comes between.
func (s *spendService) nextVersion(ctx context.Context, p spendPoll, watch SpendWatch) (*weirpb.PollSpendResponse, error) {
	changed, stop, err := s.router.state.WatchSpend(watch)
	if err != nil {
		return nil, err
	}
	defer stop()
	end := time.NewTimer(time.Until(p.end))
	defer end.Stop()
	for {
		res, err := s.campaign(ctx, p.spendQuery)
		if err != nil {
			return nil, err
		}
		if v := versionOf(res); v != p.version {
			return &weirpb.PollSpendResponse{Spend: res, Version: v}, nil
		}
		select {
		case _, open := <-changed:
			if !open {
				return nil, nil //nolint:nilnil // no answer yet
			}
		case <-end.C:
			return &weirpb.PollSpendResponse{Version: p.version}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// versionOf returns a checksum of the figures of an answer. It is the same in every process, and
// for every commit that does not change them.
func versionOf(res *weirpb.GetSpendResponse) string {
	figures := proto.CloneOf(res)
	figures.AsOf = nil
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(figures)
	if err != nil { // not UTF-8, which the transport would reject too
		return ""
	}
	return strconv.FormatUint(xxhash.Sum64(b), 16)
}
