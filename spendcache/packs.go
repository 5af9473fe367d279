package spendcache

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/processors/follower"
)

// ErrNoPacing means that the cache does not follow how campaigns are paced: Config.Pacing.
var ErrNoPacing = errors.New("the spend cache does not follow how campaigns are paced")

// Packs returns how an account is paced: the packs that this datacentre's controller has written
// last, in the order of their numbers. An account that is not paced has none. Packs returns
// ErrNoPacing, ErrNoRows if the topic has not been read to its end yet, or the error of ctx.
func (c *Cache) Packs(ctx context.Context, account string) (list []*eventspb.AccountPack, err error) {
	if !c.cfg.Pacing {
		return nil, ErrNoPacing
	}
	prefix := budget.AccountPrefix([]byte{pacing.TablePacks}, account)
	err = c.follower.Scan(c.cfg.packs(), c.Shard(account), prefix, func(row follower.Row) error {
		m := &eventspb.AccountPack{}
		if err := proto.Unmarshal(row.Value, m); err != nil {
			return fmt.Errorf("pack %q of %s: %w: is the topic written by pacing?", row.Key, c.cfg.packs(), err)
		}
		list = append(list, m)
		return ctx.Err()
	})
	if err != nil {
		return nil, gapError(err)
	}
	return list, nil
}
