package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
)

// MaxPacedAccounts is the maximum number of accounts of a page.
const MaxPacedAccounts = 1000

// listBytes is the size of the packs after which a page ends, however few accounts it has: a search
// for a campaign reads all packs.
const listBytes = 64 << 20

// pacingService implements weir.v1.PacingService.
type pacingService struct {
	packs     *PackReader    // nil: this process does not have the role pacing
	budgets   BudgetSource   // of the same role
	overrides OverrideSource // of the same role; nil: there are none
	apps      *apps
	most      int // bytes of the packs that a page reads
}

// available returns an error in a process without the role pacing.
func (s *pacingService) available() error {
	if s.packs == nil || s.budgets == nil {
		return errorf(connect.CodeUnimplemented,
			"this process%s does not know how campaigns are paced: send the request to a process with the role pacing", s.apps.running())
	}
	return nil
}

// GetPacing returns how an account is paced, or one of its campaigns.
func (s *pacingService) GetPacing(ctx context.Context,
	req *connect.Request[weirpb.GetPacingRequest],
) (*connect.Response[weirpb.GetPacingResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	account, campaign := req.Msg.GetAccount(), req.Msg.GetCampaign()
	stale, err := staleness(req.Msg.GetMaxStalenessMs())
	if err == nil && account == "" {
		err = invalid("the request has no account: set account, such as {\"account\":\"acme\"}, or list the accounts that have a campaign")
	}
	if err = cmp.Or(err, checkID("account", account), checkID("campaign", campaign)); err != nil {
		return nil, err
	}
	list, at, err := s.packs.account(ctx, account, stale)
	if err != nil {
		return nil, sourceError(err, fmt.Sprintf("the pacing of account %q", account))
	}
	if len(list) == 0 {
		return nil, withAsOf(s.notPaced(ctx, account, stale), []*weirpb.AsOf{at})
	}
	p := newAccountPacing(list, campaign, time.Now().UnixMilli())
	if campaign != "" && len(p.GetCampaigns()) == 0 {
		return nil, withAsOf(noCampaign(list, campaign), []*weirpb.AsOf{at})
	}
	return connect.NewResponse(&weirpb.GetPacingResponse{Pacing: p, AsOf: at}), nil
}

// notPaced returns why an account has no packs.
func (s *pacingService) notPaced(ctx context.Context, account string, stale time.Duration) error {
	v, _, err := s.budgets.Budgets(ctx, account, stale)
	if err != nil {
		return sourceError(err, fmt.Sprintf("the budgets of account %q", account))
	}
	switch now := time.Now(); {
	case len(v.List) == 0:
		return errorf(connect.CodeNotFound,
			"account %q is not paced, because it has no budgets: check the id, or set budgets by `weir budget set`", account)
	case v.At(now.UnixMilli()) == nil:
		return errorf(connect.CodeNotFound,
			"account %q is not paced yet: its budgets hold from %s on; a version without effective_from would hold at once", account,
			time.UnixMilli(v.List[0].EffectiveMs).UTC().Format(time.RFC3339))
	}
	return errorf(connect.CodeNotFound,
		"account %q has budgets and is not paced yet: ask again in ten seconds; if that does not help, the log of the owner of "+
			"partition %d has the reason: see `weir pacing status`", account, events.Shard(account, s.packs.Shards))
}

// noCampaign returns an error with the campaigns that an account has.
func noCampaign(list packs, campaign string) error {
	var names []string
	shared := false
	for _, m := range list {
		for _, n := range m.GetCampaigns() {
			names = append(names, n.GetId())
		}
		shared = shared || slices.ContainsFunc(m.GetShared(), func(n *eventspb.PacedNode) bool { return n.GetId() == campaign })
	}
	account := list[0].GetAccount()
	if shared {
		return errorf(connect.CodeNotFound,
			"%q is a shared budget of account %q, and not a campaign: ask without a campaign, which returns all budgets of the account",
			campaign, account)
	}
	return errorf(connect.CodeNotFound,
		"account %q has no campaign %q in its budgets, so the campaign is not paced: check the id, or give it a budget by "+
			"`weir budget set`, which counts within ten seconds; the account has %s", account, campaign, listed(names))
}

// ListPacing returns a page of the accounts that are paced.
func (s *pacingService) ListPacing(ctx context.Context,
	req *connect.Request[weirpb.ListPacingRequest],
) (*connect.Response[weirpb.ListPacingResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	campaign, limit := req.Msg.GetCampaign(), int(req.Msg.GetLimit())
	stale, err := staleness(req.Msg.GetMaxStalenessMs())
	if err = cmp.Or(err, checkID("campaign", campaign)); err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = defaultPageKeys
	}
	if limit < 1 || limit > MaxPacedAccounts {
		return nil, invalid("limit %d is out of range: use 1 to %d, and page_token for more", limit, MaxPacedAccounts)
	}
	at, fingerprint := position{}, xxhash.Sum64String("pacing\x00"+campaign)
	if t := req.Msg.GetPageToken(); t != "" {
		if at, err = parseToken(t, fingerprint); err != nil {
			return nil, err
		}
		if !at.inRange(s.packs.Shards) {
			return nil, invalid("page_token is of a partition that does not exist: omit it to start again")
		}
	}
	out := &weirpb.ListPacingResponse{}
	for read := 0; at.partition < s.packs.Shards && len(out.Accounts) < limit && read < s.most; {
		q := PageQuery{Partition: at.partition, From: at.from, Limit: limit - len(out.Accounts), MaxStaleness: stale}
		if campaign != "" {
			q.Limit = min(MaxPageKeys, q.Limit*100) // few accounts have the campaign
		}
		page, err := s.packs.page(ctx, q)
		if err != nil {
			return nil, sourceError(err, "the list of paced accounts")
		}
		read += page.bytes
		at = page.addTo(out, campaign, position{at.partition, page.next}, limit)
	}
	if at.partition < s.packs.Shards {
		out.NextPageToken = at.token(fingerprint)
	}
	return connect.NewResponse(out), nil
}

// addTo adds the accounts of a page to an answer, and returns where the next page begins. next is
// the position behind the page.
func (page *packPage) addTo(out *weirpb.ListPacingResponse, campaign string, next position, limit int) position {
	now := time.Now().UnixMilli()
	for _, list := range page.accounts {
		p := newAccountPacing(list, campaign, now)
		switch {
		case campaign == "":
			p.Campaigns, p.Shared = nil, nil
		case len(p.Campaigns) == 0:
			continue
		}
		if len(out.Accounts) == limit { // a search reads more than a page
			return position{next.partition, budget.AccountPrefix(nil, p.GetAccount())}
		}
		out.Accounts = append(out.Accounts, p)
	}
	if next.from == nil {
		next.partition++
	}
	return next
}

// GetPacingStatus returns the pacing of each partition that can be read.
func (s *pacingService) GetPacingStatus(ctx context.Context,
	req *connect.Request[weirpb.GetPacingStatusRequest],
) (*connect.Response[weirpb.GetPacingStatusResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	stale, err := staleness(req.Msg.GetMaxStalenessMs())
	if err != nil {
		return nil, err
	}
	var partitions []int32
	for p := range s.packs.Shards {
		partitions = append(partitions, p)
	}
	if req.Msg.Partition != nil {
		p := req.Msg.GetPartition()
		if p < 0 || p >= s.packs.Shards {
			return nil, invalid("partition %d does not exist: use 0 to %d", p, s.packs.Shards-1)
		}
		partitions = []int32{p}
	}
	shards, failed := collect(ctx, partitions, func(ctx context.Context, p int32) (*weirpb.PacingShard, error) {
		return s.packs.shard(ctx, p, stale)
	})
	out := &weirpb.GetPacingStatusResponse{Shards: shards}
	err = failed.gaps()
	var gaps *PartitionsError
	if err != nil && !errors.As(err, &gaps) {
		return nil, sourceError(err, "the pacing of the partitions")
	}
	if gaps != nil {
		for _, g := range gaps.Gaps {
			out.Gaps = append(out.Gaps, &weirpb.Gap{Partition: g.Partition, State: g.State, Reason: g.Reason})
		}
	}
	s.addOverrides(out.Shards)
	return connect.NewResponse(out), nil
}
