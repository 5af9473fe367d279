package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache"
)

// cacheSource implements api.SpendCacheSource with the spend cache of this process.
type cacheSource struct {
	cache *spendcache.Cache
}

// Account implements api.SpendCacheSource.
func (s cacheSource) Account(q api.CacheQuery,
	fn func(*eventspb.Spend, []*eventspb.PartSpend) error,
) (*weirpb.DatasetChoice, error) {
	c, err := s.cache.Account(spendcache.AccountQuery(q), func(r spendcache.Row) error { return fn(r.Spend, r.Parts) })
	switch {
	case errors.Is(err, spendcache.ErrNoRows):
		return nil, fmt.Errorf("%w: %w", api.ErrNoDataset, err)
	case err != nil:
		return nil, err
	}
	return datasetChoice(c, time.Now()), nil
}

// Datasets implements api.SpendCacheSource.
func (s cacheSource) Datasets() (list []*weirpb.ShardDatasets) {
	now := time.Now()
	for _, shard := range s.cache.Datasets() {
		out := &weirpb.ShardDatasets{Choice: datasetChoice(shard.Choice, now)}
		for _, d := range shard.Datasets {
			one := &weirpb.Dataset{
				Dc: d.DC, Chosen: d.Chosen, Healthy: d.Healthy(), Problem: d.Problem(), AgeMs: -1, LagMs: d.Lag.Milliseconds(),
				LagOrigin: d.Origin, Deficit: d.Deficit, Count_60S: d.Count, Lost: d.Lost,
			}
			if d.Known {
				one.AgeMs = d.Age.Milliseconds()
			}
			out.Datasets = append(out.Datasets, one)
		}
		list = append(list, out)
	}
	return list
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
