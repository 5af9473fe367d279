package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/healthage"
	"github.com/weirhq/weir/spendcache"
)

// cacheSource implements api.SpendCacheSource with the spend cache of this process.
type cacheSource struct {
	cache *spendcache.Cache
}

// Account implements api.SpendCacheSource.
func (s cacheSource) Account(ctx context.Context, q api.CacheQuery,
	fn func(*eventspb.Spend, []*eventspb.PartSpend) error,
) (*weirpb.DatasetChoice, error) {
	c, err := s.cache.Account(ctx, accountQuery(q), func(r spendcache.Row) error { return fn(r.Spend, r.Parts) })
	if err != nil {
		return nil, cacheError(err)
	}
	return datasetChoice(c, time.Now()), nil
}

func accountQuery(q api.CacheQuery) spendcache.AccountQuery {
	return spendcache.AccountQuery{Account: q.Account, From: q.From, Campaigns: q.Campaigns, Parts: q.Parts, Limit: q.Limit}
}

// Datasets implements api.SpendCacheSource.
func (s cacheSource) Datasets() (list []*weirpb.ShardDatasets) {
	now := time.Now()
	for _, shard := range s.cache.Datasets() {
		list = append(list, shardDatasets(shard, now))
	}
	return list
}

// Rows implements api.SpendCacheSource.
func (s cacheSource) Rows(ctx context.Context, q api.CacheQuery) (*weirpb.ShardDatasets, [][]*eventspb.Spend, error) {
	shard, list, err := s.cache.Rows(ctx, accountQuery(q))
	if err != nil {
		return nil, nil, cacheError(err)
	}
	out := shardDatasets(shard, time.Now())
	rows := make([][]*eventspb.Spend, len(list))
	for i, d := range list {
		if d.Err != nil {
			out.Datasets[i].Unread = d.Err.Error()
		}
		for _, r := range d.Rows {
			rows[i] = append(rows[i], r.Spend)
		}
	}
	return out, rows, nil
}

func shardDatasets(shard spendcache.ShardDatasets, now time.Time) *weirpb.ShardDatasets {
	out := &weirpb.ShardDatasets{Choice: datasetChoice(shard.Choice, now), PacingDc: shard.PacingDC, PacingOverride: shard.PacingOverride}
	for _, d := range shard.Datasets {
		one := &weirpb.Dataset{
			Dc: d.DC, Chosen: d.Chosen, Healthy: d.Healthy(), Problem: d.Problem(), AgeMs: -1, LagMs: d.Lag.Milliseconds(),
			LagOrigin: d.Origin, Deficit: d.Deficit, Count_60S: d.Count, Lost: d.Lost, Stale: !d.Candidate,
			Never: d.Never,
		}
		if d.Known && d.Age < healthage.Unknown {
			one.AgeMs = d.Age.Milliseconds()
		}
		out.Datasets = append(out.Datasets, one)
	}
	return out
}

func datasetChoice(c *spendcache.Choice, now time.Time) *weirpb.DatasetChoice {
	out := &weirpb.DatasetChoice{
		Shard: c.Shard, Mode: c.Mode.String(), Dc: c.DC, Reason: c.Reason, SinceMs: c.Since.UnixMilli(), WrittenMs: c.WrittenMs, AgeMs: -1,
	}
	if age := c.Age(now); age >= 0 {
		out.AgeMs = age.Milliseconds()
	}
	for _, o := range c.Origins {
		out.Origins = append(out.Origins, &weirpb.OriginTime{Dc: o.DC, WatermarkMs: o.WatermarkMs})
	}
	return out
}

// Shard implements api.SpendCacheSource.
func (s cacheSource) Shard(account string) int32 { return s.cache.Shard(account) }

// Away implements api.SpendCacheSource.
func (s cacheSource) Away(account string) bool { return s.cache.Away(account) }

// Campaign implements api.SpendCacheSource.
func (s cacheSource) Campaign(ctx context.Context, campaign, account string,
	fn func(*eventspb.Spend, *weirpb.DatasetChoice) error,
) (list []*weirpb.DatasetChoice, err error) {
	now := time.Now()
	choices, err := s.cache.Campaign(ctx, campaign, account, func(c *spendcache.Choice, r spendcache.Row) error {
		return fn(r.Spend, datasetChoice(c, now))
	})
	if err != nil {
		return nil, cacheError(err)
	}
	for _, c := range choices {
		list = append(list, datasetChoice(c, now))
	}
	return list, nil
}

// Packs implements api.SpendCacheSource.
func (s cacheSource) Packs(ctx context.Context, account string) ([]*eventspb.AccountPack, error) {
	list, err := s.cache.Packs(ctx, account)
	return list, cacheError(err)
}

// cacheError marks the error of a shard that cannot be read.
func cacheError(err error) error {
	switch {
	case errors.Is(err, spendcache.ErrNoRows):
		return fmt.Errorf("%w: %w", api.ErrNoDataset, err)
	case errors.Is(err, spendcache.ErrLimit):
		return api.ErrTooManyRows
	case errors.Is(err, spendcache.ErrNoPacing):
		return api.ErrNoPacing
	}
	return err
}
