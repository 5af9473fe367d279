package api

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// roleSpendCache is ServedBy.role of an answer from the spend cache.
const roleSpendCache = "spendcache"

// cachedSpend answers a query from the spend cache.
func cachedSpend(ctx context.Context, source SpendCacheSource, q spendQuery) (*weirpb.GetSpendResponse, error) {
	t := newSpendAggregator(q)
	choices, err := source.Campaign(ctx, q.campaign, q.account, func(s *eventspb.Spend, c *weirpb.DatasetChoice) error {
		return t.add(s, choiceAsOf(c))
	})
	if err != nil {
		return nil, cacheError(err, "spend of "+q.subject())
	}
	if len(t.accounts) == 0 {
		err := errorf(connect.CodeNotFound, "%s has no spend in the dataset that is used now: check the id; events that were produced "+
			"just now may not be counted yet", q.subject())
		var read []*weirpb.AsOf
		for _, c := range choices {
			read = append(read, choiceAsOf(c))
		}
		return nil, withAsOf(err, read)
	}
	res, err := t.answer()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(choices, func(c *weirpb.DatasetChoice) bool { return c.GetShard() == res.GetAsOf().GetPartition() })
	if i >= 0 {
		res.Choice = choices[i]
	}
	return res, nil
}

// choiceAsOf returns how much an answer from a dataset includes. Its offsets are not known.
func choiceAsOf(c *weirpb.DatasetChoice) *weirpb.AsOf {
	return &weirpb.AsOf{
		Partition: c.GetShard(), AppliedMs: c.GetWrittenMs(),
		ServedBy: &weirpb.ServedBy{Role: roleSpendCache, StalenessMs: max(0, c.GetAgeMs())},
	}
}
