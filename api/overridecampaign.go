package api

import (
	"context"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/override"
)

// newCampaignOverride returns an override for an answer, nil for none.
func newCampaignOverride(o *eventspb.CampaignOverride) *weirpb.CampaignOverride {
	if o == nil {
		return nil
	}
	return &weirpb.CampaignOverride{
		Account: o.GetAccount(), Campaign: o.GetCampaign(), Probability: o.GetProbability(), Who: o.GetWho(), Why: o.GetWhy(),
		AtMs: o.GetAtMs(), UntilMs: o.GetUntilMs(),
	}
}

// OverrideCampaign stops a campaign for a time, gives it a probability, or withdraws its override.
func (s *pacingService) OverrideCampaign(ctx context.Context,
	req *connect.Request[weirpb.OverrideCampaignRequest],
) (*connect.Response[weirpb.OverrideCampaignResponse], error) {
	inForce, err := s.inForce()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, overrideWait)
	defer cancel()
	m, now := req.Msg, time.Now()
	o := &eventspb.CampaignOverride{
		Account: m.GetAccount(), Campaign: m.GetCampaign(), Probability: m.GetProbability(), AtMs: now.UnixMilli(),
		UntilMs: now.UnixMilli() + m.GetDurationMs(),
	}
	switch {
	case m.GetDurationMs() == 0:
		o, err = withdrawnCampaign(inForce.campaigns, m)
	case m.Probability == nil:
		err = invalid("the request has no probability: set it, to 0 to stop the campaign")
	default:
		err = s.checkCampaign(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	o.Who, o.Why = m.GetWho(), m.GetWhy()
	if err := override.Campaigns().Check(o); err != nil {
		return nil, invalid("%w", err)
	}
	if err := s.overrides.SetCampaign(ctx, o); err != nil {
		return nil, errorf(connect.CodeUnavailable, "%w: list the overrides, and repeat the request if it is not there", err)
	}
	return connect.NewResponse(&weirpb.OverrideCampaignResponse{Override: newCampaignOverride(o)}), nil
}

// withdrawnCampaign returns the override that withdraws the one in force.
func withdrawnCampaign(list []*eventspb.CampaignOverride, m *weirpb.OverrideCampaignRequest) (*eventspb.CampaignOverride, error) {
	if m.Probability != nil {
		return nil, invalid("the request has a probability and no duration: set the duration, or leave out both to withdraw the override")
	}
	for _, o := range list {
		if o.GetAccount() == m.GetAccount() && o.GetCampaign() == m.GetCampaign() {
			return override.Campaigns().Withdraw(o, time.Now()), nil
		}
	}
	return nil, errorf(connect.CodeFailedPrecondition,
		"this process knows no override in force for campaign %q of account %q: there is nothing to withdraw", m.GetCampaign(), m.GetAccount())
}

// checkCampaign returns an error if the account is not paced, or lacks the campaign. While that
// cannot be read, such as while the shard moves, it does not: a stop may be urgent.
func (s *pacingService) checkCampaign(ctx context.Context, o *eventspb.CampaignOverride) error {
	if err := override.Campaigns().Check(o); err != nil {
		return invalid("%w", err)
	}
	list, _, err := s.packs.account(ctx, o.GetAccount(), 0)
	switch {
	case err != nil:
		return nil //nolint:nilerr // the campaign may exist
	case len(list) == 0:
		return s.notPaced(ctx, o.GetAccount(), 0)
	case len(newAccountPacing(list, o.GetCampaign(), o.GetAtMs()).GetCampaigns()) == 0:
		return noCampaign(list, o.GetCampaign())
	}
	return nil
}
