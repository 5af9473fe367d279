package spendcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/spendcache/selection"
	"github.com/weirhq/weir/spendcounter"
)

// Away reports whether the dataset of another datacentre is used for the shard of an account, or
// for any shard if account is empty.
func (c *Cache) Away(account string) bool {
	for _, n := range c.shardsOf(account) {
		if choice := c.shards[n].choice.Load(); choice != nil && choice.Mode == selection.Normal && choice.DC != c.cfg.DC {
			return true
		}
	}
	return false
}

// shardsOf returns the shard of an account, or all of them if account is empty.
func (c *Cache) shardsOf(account string) (list []int32) {
	if account != "" {
		return []int32{c.Shard(account)}
	}
	for n := range int32(len(c.shards)) {
		list = append(list, n)
	}
	return list
}

// Campaign calls fn with each row of a campaign, of one account or of all accounts that have the
// campaign, with the choice that it is of. Other than those of Account, the rows include the
// lifetime row, which cannot be merged: a shard without a healthy dataset is ErrNoRows. It returns
// the choices of all shards that were read. Without an account it reads the keys of all rows, a
// million in about a second, for one caller at a time. Its errors are those of Account and of ctx.
func (c *Cache) Campaign(ctx context.Context, campaign, account string, fn func(*Choice, Row) error) (choices []*Choice, err error) {
	if account == "" {
		select {
		case c.scanning <- struct{}{}:
			defer func() { <-c.scanning }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	snap, err := c.follower.Snapshot()
	if err != nil {
		return nil, gapError(err)
	}
	defer func() { _ = snap.Close() }() // a snapshot of an open database has no error
	for _, n := range c.shardsOf(account) {
		choice := c.shards[n].choice.Load()
		switch {
		case choice == nil:
			return nil, fmt.Errorf("%w: the cache has just started", ErrNoRows)
		case choice.Mode != selection.Normal:
			return nil, fmt.Errorf("%w: %s", ErrNoRows, choice.Text())
		}
		d := c.dataset(choice.DC)
		r := &reader{ctx: ctx, snap: snap, shard: n}
		health, err := r.healthOf(d, choice)
		if err != nil {
			return nil, gapError(err)
		}
		s := &scan{
			reader: r, topic: d.topic, incarnation: health.GetIncarnation(), fn: func(row Row) error { return fn(choice, row) },
		}
		if err := s.campaign(campaign, account); err != nil {
			return nil, gapError(err)
		}
		choices = append(choices, choice)
	}
	return choices, nil
}

// campaign reads the rows of a campaign.
func (s *scan) campaign(campaign, account string) error {
	prefix := []byte{spendcounter.TableSpend}
	if account != "" {
		prefix = append(prefix, spendcounter.CampaignPrefix(account, campaign)...)
	}
	return s.snap.Scan(s.topic, s.shard, prefix, func(row follower.Row) error {
		key := row.Key[1:]
		_, of, _, _, err := spendcounter.ParseKey(key)
		if err = errors.Join(err, s.step()); err != nil || string(of) != campaign {
			return err
		}
		return s.take(key, row.Value)
	})
}
