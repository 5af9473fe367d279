package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// SpendCacheSource has the datasets of a datacentre: a spendcache.Cache. Its methods are called
// concurrently.
type SpendCacheSource interface {
	// Account calls fn with each row of an account, ordered by campaign, day and currency, and with
	// the parts of the row if the query asks for them. It returns the choice that the rows are of.
	// An error of fn ends the call and is returned. If no dataset can be read, the error is
	// ErrNoDataset.
	Account(q CacheQuery, fn func(*eventspb.Spend, []*eventspb.PartSpend) error) (*weirpb.DatasetChoice, error)
	// Datasets returns the datasets of all shards, ordered by shard.
	Datasets() []*weirpb.ShardDatasets
}

// CacheQuery selects rows of an account.
type CacheQuery struct {
	Account   string
	From      events.Day
	Campaigns []string // empty: all
	Parts     bool
}

// ErrNoDataset means that a SpendCacheSource can read no dataset of the shard now.
var ErrNoDataset = errors.New("no dataset of the shard can be read now")

// Bounds of a request to the spend cache.
const (
	maxCacheRows      = 50_000 // rows and parts of an answer
	maxCacheCampaigns = 1000
)

// spendCacheService implements weir.v1.SpendCacheService.
type spendCacheService struct {
	source SpendCacheSource // nil: this process has no spend cache
}

// GetAccount returns the spend of an account. weir.proto lists its errors.
func (s *spendCacheService) GetAccount(_ context.Context,
	req *connect.Request[weirpb.GetAccountRequest],
) (*connect.Response[weirpb.GetAccountResponse], error) {
	if s.source == nil {
		return nil, noSpendCache()
	}
	q, err := newCacheQuery(req.Msg, time.Now())
	if err != nil {
		return nil, err
	}
	a := &cacheAnswer{out: &weirpb.GetAccountResponse{Account: q.Account}}
	what := fmt.Sprintf("spend of account %q", q.Account)
	a.out.Choice, err = s.source.Account(q, a.add)
	switch {
	case errors.Is(err, ErrNoDataset):
		return nil, retryLater(errorf(connect.CodeUnavailable,
			"%s cannot be read now: %w: ask the spend cache of another datacentre, or try again in a moment", what, err))
	case err != nil:
		return nil, sourceError(err, what)
	}
	if err := a.rows.err(); err != nil {
		return nil, err
	}
	return connect.NewResponse(a.out), nil
}

// ListDatasets returns the datasets of each shard.
func (s *spendCacheService) ListDatasets(_ context.Context,
	req *connect.Request[weirpb.ListDatasetsRequest],
) (*connect.Response[weirpb.ListDatasetsResponse], error) {
	if s.source == nil {
		return nil, noSpendCache()
	}
	account := req.Msg.GetAccount()
	if err := checkID("account", account); err != nil {
		return nil, err
	}
	all := s.source.Datasets()
	if account == "" {
		return connect.NewResponse(&weirpb.ListDatasetsResponse{Shards: all}), nil
	}
	res := &weirpb.ListDatasetsResponse{}
	for _, shard := range all {
		if shard.GetChoice().GetShard() == events.Shard(account, int32(len(all))) {
			res.Shards = append(res.Shards, shard)
		}
	}
	return connect.NewResponse(res), nil
}

func noSpendCache() error {
	return errorf(connect.CodeFailedPrecondition,
		"this process has no spend cache: send the request to a process with the role spendcache, such as `weir run --roles spend`")
}

// newCacheQuery returns a validated query.
func newCacheQuery(m *weirpb.GetAccountRequest, now time.Time) (q CacheQuery, err error) {
	q = CacheQuery{Account: m.GetAccount(), Campaigns: m.GetCampaigns(), Parts: m.GetParts()}
	switch {
	case q.Account == "":
		return q, invalid("the request has no account: set account, such as {\"account\":\"acme\"}")
	case len(q.Campaigns) > maxCacheCampaigns:
		return q, invalid("the request has %d campaigns: use at most %d, or none for all", len(q.Campaigns), maxCacheCampaigns)
	}
	if err := checkID("account", q.Account); err != nil {
		return q, err
	}
	for _, c := range q.Campaigns {
		if c == "" {
			return q, invalid("one of campaigns is empty: leave it out")
		}
		if err := checkID("campaign", c); err != nil {
			return q, err
		}
	}
	if m.GetFrom() == "" {
		q.From = events.UTCDay(now.Add(-24 * time.Hour).UnixMilli())
		return q, nil
	}
	first, _, err := parseDays(m.GetFrom(), "")
	q.From = events.Day(first)
	return q, err
}

// cacheAnswer collects the rows of an answer.
type cacheAnswer struct {
	out  *weirpb.GetAccountResponse
	rows spendRows
}

func (a *cacheAnswer) add(s *eventspb.Spend, parts []*eventspb.PartSpend) error {
	if s.GetAccount() != a.out.GetAccount() {
		return sourceBug("the spend cache returned a record of account %[2]q for account %[1]q", a.out.GetAccount(), s.GetAccount())
	}
	if len(a.out.Rows)+len(a.out.Parts)+1+len(parts) > maxCacheRows {
		return errorf(connect.CodeResourceExhausted,
			"the answer has more than %d rows: name some campaigns of the account, or a later day in from", maxCacheRows)
	}
	row := newSpendRow(s)
	row.Account = ""
	a.rows.add(row, s)
	a.out.Rows = append(a.out.Rows, row)
	for _, p := range parts {
		a.out.Parts = append(a.out.Parts, &weirpb.SpendRow{
			Campaign: row.Campaign, Day: row.Day, Currency: row.Currency, LineItem: p.GetLineItem(), Arm: p.GetArm(),
			ChargedMicros: p.GetChargedMicros(), Events: p.GetEvents(),
		})
	}
	return nil
}
