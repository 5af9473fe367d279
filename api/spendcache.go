package api

import (
	"cmp"
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
	Account(ctx context.Context, q CacheQuery, fn func(*eventspb.Spend, []*eventspb.PartSpend) error) (*weirpb.DatasetChoice, error)
	// Away reports whether the dataset of another datacentre is used for the shard of an account,
	// or for any shard if account is empty.
	Away(account string) bool
	// Campaign calls fn with each row of a campaign, of one account or of all, and with the choice
	// that the row is of. It returns the choices of all shards that were read. An error of fn ends
	// the call and is returned. If a shard cannot be read, the error is ErrNoDataset.
	Campaign(ctx context.Context, campaign, account string, fn func(*eventspb.Spend, *weirpb.DatasetChoice) error) (
		[]*weirpb.DatasetChoice, error)
	// Shard returns the shard of an account.
	Shard(account string) int32
	// Datasets returns the datasets of all shards, ordered by shard.
	Datasets() []*weirpb.ShardDatasets
	// Rows returns the datasets of the shard of an account, and the rows that each of them has, in
	// the same order and ordered as those of Account. A dataset that cannot be read has no rows,
	// and the reason in Unread. If the cache cannot be read, the error is ErrNoDataset.
	Rows(ctx context.Context, q CacheQuery) (*weirpb.ShardDatasets, [][]*eventspb.Spend, error)
	// Packs returns how an account is paced, with the parts of the account in order. An account
	// that is not paced has none. If the packs cannot be read, the error is ErrNoDataset, or
	// ErrNoPacing.
	Packs(ctx context.Context, account string) ([]*eventspb.AccountPack, error)
}

// CacheQuery selects rows of an account.
type CacheQuery struct {
	Account   string
	From      events.Day
	Campaigns []string // empty: all
	Parts     bool
	Limit     int // of rows and parts; beyond it the error is ErrTooManyRows
}

// ErrTooManyRows means that an account has more rows than CacheQuery.Limit.
var ErrTooManyRows = errors.New("the answer has too many rows")

// ErrNoPacing means that a SpendCacheSource does not follow how campaigns are paced.
var ErrNoPacing = errors.New("the spend cache does not follow how campaigns are paced")

// ErrNoDataset means that a SpendCacheSource can read no dataset of the shard now.
var ErrNoDataset = errors.New("no dataset of the shard can be read now")

// Bounds of a request to the spend cache.
const (
	maxCacheRows      = 50_000 // rows and parts of an answer
	maxCacheCampaigns = 1000
)

// spendCacheService implements weir.v1.SpendCacheService.
type spendCacheService struct {
	source     SpendCacheSource // nil: this process has no spend cache
	insertions InsertionSink    // nil: as without a spend cache
	reporting  chan struct{}    // has a token for each report that is being written
}

// GetAccount returns the spend of an account. weir.proto lists its errors.
func (s *spendCacheService) GetAccount(ctx context.Context,
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
	a.out.Choice, err = s.source.Account(ctx, q, a.add)
	switch {
	case errors.Is(err, ErrTooManyRows):
		return nil, errorf(connect.CodeResourceExhausted,
			"%s has more than %d rows: name some campaigns of the account, or a later day in from", what, maxCacheRows)
	case err != nil:
		return nil, cacheError(err, what)
	}
	if err := a.rows.err(); err != nil {
		return nil, err
	}
	return connect.NewResponse(a.out), nil
}

// ListDatasets returns the datasets of each shard. weir.proto lists its errors.
func (s *spendCacheService) ListDatasets(ctx context.Context,
	req *connect.Request[weirpb.ListDatasetsRequest],
) (*connect.Response[weirpb.ListDatasetsResponse], error) {
	res, err := s.datasets(ctx, req.Msg)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

func (s *spendCacheService) datasets(ctx context.Context, m *weirpb.ListDatasetsRequest) (*weirpb.ListDatasetsResponse, error) {
	if s.source == nil {
		return nil, noSpendCache()
	}
	account, campaign := m.GetAccount(), m.GetCampaign()
	if err := cmp.Or(checkID("account", account), checkID("campaign", campaign)); err != nil {
		return nil, err
	}
	switch {
	case campaign != "" && account == "":
		return nil, invalid("the request has a campaign without its account: set account, too")
	case campaign != "":
		shard, err := s.rows(ctx, account, campaign)
		if err != nil {
			return nil, err
		}
		return &weirpb.ListDatasetsResponse{Shards: []*weirpb.ShardDatasets{shard}, Campaign: campaign}, nil
	}
	all := s.source.Datasets()
	if account == "" {
		return &weirpb.ListDatasetsResponse{Shards: all}, nil
	}
	res := &weirpb.ListDatasetsResponse{}
	for _, shard := range all {
		if shard.GetChoice().GetShard() == s.source.Shard(account) {
			res.Shards = append(res.Shards, shard)
		}
	}
	return res, nil
}

// rows returns the datasets of the shard of an account, with the rows that they have of a campaign.
func (s *spendCacheService) rows(ctx context.Context, account, campaign string) (*weirpb.ShardDatasets, error) {
	what := fmt.Sprintf("the rows of campaign %q of account %q", campaign, account)
	shard, rows, err := s.source.Rows(ctx, CacheQuery{Account: account, Campaigns: []string{campaign}, Limit: maxCacheRows})
	switch {
	case errors.Is(err, ErrTooManyRows):
		return nil, errorf(connect.CodeResourceExhausted, "a dataset has more than %d of %s: read its topic", maxCacheRows, what)
	case err != nil:
		return nil, cacheError(err, what)
	case len(rows) != len(shard.GetDatasets()):
		return nil, sourceBug("the spend cache returned rows of %d datasets, and %d datasets", len(rows), len(shard.GetDatasets()))
	}
	var sums spendRows
	for i, d := range shard.GetDatasets() {
		for _, r := range rows[i] {
			if r.GetAccount() != account || r.GetCampaign() != campaign {
				return nil, sourceBug("the spend cache returned a record of account %[2]q for account %[1]q", account, r.GetAccount())
			}
			row := newSpendRow(r)
			sums.add(row, r)
			d.Rows = append(d.Rows, row)
		}
	}
	if err := sums.err(); err != nil {
		return nil, err
	}
	return shard, nil
}

// cacheError gives the error of the spend cache its code.
func cacheError(err error, what string) error {
	if errors.Is(err, ErrNoDataset) {
		return retryLater(errorf(connect.CodeUnavailable,
			"%s cannot be read now: %w: ask the spend cache of another datacentre, or try again in a moment", what, err))
	}
	if errors.Is(err, ErrNoPacing) {
		return errorf(connect.CodeFailedPrecondition, "%s is not known here: %w: set Pacing in its configuration", what, err)
	}
	return sourceError(err, what)
}

func noSpendCache() error {
	return errorf(connect.CodeFailedPrecondition,
		"this process has no spend cache: send the request to a process with the role spendcache, such as `weir run --roles spend`")
}

func noAccount() error {
	return invalid("the request has no account: set account, such as {\"account\":\"acme\"}")
}

// checkAccount checks the account of a request that needs one.
func checkAccount(account string) error {
	if account == "" {
		return noAccount()
	}
	return checkID("account", account)
}

// newCacheQuery returns a validated query.
func newCacheQuery(m *weirpb.GetAccountRequest, now time.Time) (q CacheQuery, err error) {
	q = CacheQuery{Account: m.GetAccount(), Campaigns: m.GetCampaigns(), Parts: m.GetParts(), Limit: maxCacheRows}
	switch {
	case q.Account == "":
		return q, noAccount()
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
