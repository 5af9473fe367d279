package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// spendPath is the path of the page of a campaign, an account or a search.
const spendPath = "/spend"

// maxDays is the number of campaign days on a page.
const maxDays = 400

// day returns the campaigns with the greatest charges of a budget day, and what all campaigns
// were charged, by currency.
func (s *spendService) day(ctx context.Context, day string) ([]*weirpb.SpendRow, []page.Charge, error) {
	if s.router == nil {
		return nil, nil, errNoRouter()
	}
	m := &weirpb.TopSpendRequest{Day: day, Limit: MaxTop}
	q, err := s.router.info.topQuery(m)
	if err != nil {
		return nil, nil, err
	}
	parts, err := s.rankings(ctx, q, m)
	if err != nil {
		return nil, nil, err
	}
	var rows []*weirpb.SpendRow
	totals, err := totalsOf(parts)
	if err != nil {
		return nil, nil, err
	}
	var charged []page.Charge
	for _, t := range totals {
		charged = append(charged, page.Charge{Currency: t.GetCurrency(), Micros: t.GetChargedMicros()})
	}
	for _, part := range parts {
		rows = append(rows, part.GetRows()...)
	}
	if len(rows) > 0 && len(charged) == 0 {
		return nil, nil, errorf(connect.CodeUnavailable, "a process of an earlier version has answered. It does not sum the charges of all campaigns: update it")
	}
	return q.top(rows), charged, nil
}

// spendPage collects the content of the page of a campaign, an account or a search for either. The
// days and the campaigns are read concurrently, so that a timeout is paid once. The datasets have a
// time limit of their own: a search needs the account that the days have, and these may take the
// whole time.
func (p *pages) spendPage(ctx context.Context, r *http.Request) *page.Spend {
	of := r.URL.Query()
	s := &page.Spend{Now: time.Now(), Query: strings.TrimSpace(of.Get("q")), Account: of.Get("account"), Campaign: of.Get("campaign")}
	campaign := cmp.Or(s.Query, s.Campaign)
	known := campaign != "" && s.Query == "" && s.Account != ""
	if known {
		s.Datasets = p.datasetsOf(ctx, s, s.Account)
	}
	limited, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var g sync.WaitGroup
	if s.Account != "" && s.Query == "" && p.cfg.Packs != nil {
		s.Pacing = &page.Pacing{}
		p.part(&g, &s.Pacing.Err, func() error { return p.pacingOf(limited, s.Pacing, s.Account, campaign) })
	}
	if campaign != "" {
		p.part(&g, &s.DaysErr, func() error {
			days, err := p.spend.campaignDays(limited, s.Account, campaign)
			if !known {
				s.Datasets = p.datasetsOfDays(ctx, s, days, err)
				s.Pacing = p.pacingOfDays(limited, days, campaign)
			}
			s.Days = days[:min(len(days), maxDays)]
			s.Cut = len(days) - len(s.Days)
			return err
		})
	}
	if s.Query != "" || s.Campaign == "" {
		p.part(&g, &s.CampaignsErr, func() error {
			m := &weirpb.ListSpendRequest{Account: cmp.Or(s.Query, s.Account), By: byCampaign, PageToken: of.Get("page_token")}
			res, err := p.spend.ListSpend(limited, connect.NewRequest(m))
			if err != nil {
				return err
			}
			s.Campaigns = res.Msg.GetRows()
			if token := res.Msg.GetNextPageToken(); token != "" {
				of.Set("page_token", token)
				s.Next = spendPath + "?" + of.Encode()
			}
			return nil
		})
	}
	g.Wait()
	return s
}

// datasetsOf returns what each dataset has of the campaign of a page in an account; nil with one
// datacentre only. Without an account no dataset is asked. It waits at most readyLimit.
func (p *pages) datasetsOf(ctx context.Context, s *page.Spend, account string) *page.CampaignDatasets {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	c, err := p.cfg.Cluster.Cluster(ctx)
	if err != nil || len(c.GetDcs()) < 2 {
		return nil
	}
	d := &page.CampaignDatasets{
		Now: s.Now, DC: c.GetDc(), Account: account, Campaign: cmp.Or(s.Query, s.Campaign), NoCache: p.cfg.SpendCache == nil,
	}
	if d.NoCache || account == "" {
		return d
	}
	m := &weirpb.ListDatasetsRequest{Account: account, Campaign: d.Campaign}
	res, err := (&spendCacheService{source: p.cfg.SpendCache}).datasets(ctx, m)
	if err != nil {
		d.Err = message(err)
		return d
	}
	d.Shard = res.GetShards()[0]
	return d
}

// datasetsOfDays is datasetsOf with the account that all days of the campaign have: a search reads
// no further shard. err is why there are no days. It returns nil for a campaign that has none.
func (p *pages) datasetsOfDays(ctx context.Context, s *page.Spend, days []*weirpb.SpendRow, err error) *page.CampaignDatasets {
	if code := connect.CodeOf(err); err != nil && (code == connect.CodeNotFound || code == connect.CodeInvalidArgument) {
		return nil
	}
	account, several := s.Account, false
	for _, day := range days {
		several = several || day.GetAccount() != days[0].GetAccount()
	}
	if account == "" && len(days) > 0 && !several {
		account = days[0].GetAccount()
	}
	d := p.datasetsOf(ctx, s, account)
	if d != nil && !d.NoCache {
		d.Several, d.Unknown = several, account == "" && !several
	}
	return d
}

// pacingOf reads how a campaign of an account is paced, or without a campaign all of the account.
func (p *pages) pacingOf(ctx context.Context, to *page.Pacing, account, campaign string) error {
	to.One = campaign != ""
	res, err := p.pacingService().GetPacing(ctx, connect.NewRequest(&weirpb.GetPacingRequest{Account: account, Campaign: campaign}))
	if err == nil {
		to.Account = res.Msg.GetPacing()
	}
	return err
}

// pacingStatus reads how all accounts are paced.
func (p *pages) pacingStatus(ctx context.Context) (*weirpb.GetPacingStatusResponse, error) {
	res, err := p.pacingService().GetPacingStatus(ctx, connect.NewRequest(&weirpb.GetPacingStatusRequest{}))
	if err != nil {
		return nil, err
	}
	return res.Msg, nil
}

// pacingOfDays is pacingOf with the account that all days of a campaign have. It returns nil where
// they have several.
func (p *pages) pacingOfDays(ctx context.Context, days []*weirpb.SpendRow, campaign string) *page.Pacing {
	if p.cfg.Packs == nil || len(days) == 0 ||
		slices.ContainsFunc(days, func(d *weirpb.SpendRow) bool { return d.GetAccount() != days[0].GetAccount() }) {
		return nil
	}
	to := &page.Pacing{}
	if err := p.pacingOf(ctx, to, days[0].GetAccount(), campaign); err != nil {
		to.Err = message(err)
	}
	return to
}

// campaignDays returns the days of a campaign, the newest first, of one account or of all that have
// the campaign. Nothing is summed over accounts or currencies.
func (s *spendService) campaignDays(ctx context.Context, account, campaign string) ([]*weirpb.SpendRow, error) {
	if err := cmp.Or(checkID("campaign", campaign), checkID("account", account)); err != nil {
		return nil, err
	}
	var rows []*weirpb.SpendRow
	var sums spendRows
	read, err := s.spend.Spend(ctx, SpendQuery{Campaign: campaign, Account: account}, func(rec *eventspb.Spend, _ *weirpb.AsOf) error {
		row := newSpendRow(rec)
		sums.add(row, rec)
		rows = append(rows, row)
		return sums.err()
	})
	if err != nil {
		return nil, sourceError(err, "the spend of the campaign")
	}
	if len(rows) == 0 {
		return nil, errorf(connect.CodeNotFound, "campaign %q has no spend, as of %s", campaign, asOfText(read))
	}
	slices.SortFunc(rows, func(a, b *weirpb.SpendRow) int {
		return cmp.Or(cmp.Compare(a.GetAccount(), b.GetAccount()), cmp.Compare(b.GetDay(), a.GetDay()),
			cmp.Compare(a.GetCurrency(), b.GetCurrency()))
	})
	return rows, nil
}
