package api

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// GetParameters returns the parameters of the campaigns of an account. weir.proto lists its errors.
func (s *spendCacheService) GetParameters(ctx context.Context,
	req *connect.Request[weirpb.GetParametersRequest],
) (*connect.Response[weirpb.GetParametersResponse], error) {
	if s.source == nil {
		return nil, noSpendCache()
	}
	account := req.Msg.GetAccount()
	if err := checkAccount(account); err != nil {
		return nil, err
	}
	list, err := s.source.Packs(ctx, account)
	if err != nil {
		return nil, cacheError(err, fmt.Sprintf("the pacing of account %q", account))
	}
	for _, m := range list {
		if m.GetAccount() != account {
			return nil, sourceBug("the spend cache returned a pack of account %[2]q for account %[1]q", account, m.GetAccount())
		}
	}
	return connect.NewResponse(Parameters(account, list, time.Now().UnixMilli())), nil
}

// Parameters returns the parameters of the packs of an account, with their ages at a time, Unix ms.
// The packs that are not written at a tick have not changed at it, so the newest one shows how old
// all of them are.
func Parameters(account string, list []*eventspb.AccountPack, nowMs int64) *weirpb.GetParametersResponse {
	out := &weirpb.GetParametersResponse{Account: account}
	for _, m := range list {
		if m.GetAtMs() > out.TickMs {
			out.WriterDc, out.TickMs, out.AgeMs = m.GetWriterDc(), m.GetAtMs(), max(0, nowMs-m.GetAtMs())
		}
		for _, n := range m.GetCampaigns() {
			out.Campaigns = append(out.Campaigns, newCampaignParameters(n, max(0, nowMs-m.GetAtMs())))
		}
	}
	return out
}

func newCampaignParameters(n *eventspb.PacedNode, ageMs int64) *weirpb.CampaignParameters {
	out := &weirpb.CampaignParameters{
		Id: n.GetId(), Open: n.GetOpen(), Probability: n.GetProbability(), Multiplier: n.GetMultiplier(), Reason: n.GetReason(),
		AgeMs: ageMs, LastsMs: n.LastsMs,
	}
	for _, arm := range n.GetArms() {
		out.Arms = append(out.Arms, newCampaignParameters(arm, ageMs))
	}
	return out
}
