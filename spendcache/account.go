package spendcache

import (
	"context"
	"errors"
	"fmt"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/spendcache/selection"
)

// AccountQuery selects rows of an account.
type AccountQuery struct {
	Account string
	// From is the first budget day. Defaults to no bound.
	From events.Day
	// Lifetime is whether the rows include the lifetime rows, which have the closed days. Only
	// those of one dataset are right: they cannot be merged. Defaults to no.
	Lifetime bool
	// Campaigns are the campaigns. Defaults to all of the account.
	Campaigns []string
	// Parts is whether rows have the spend by line item and arm.
	Parts bool
	// Limit is the maximum number of rows, and of their parts. Defaults to no bound.
	Limit int
}

// Row is a campaign day in one currency.
type Row struct {
	Spend *eventspb.Spend
	// Parts are those of the row, if the query asks for them.
	Parts []*eventspb.PartSpend

	key string // spend key
}

// Spent returns the charges less the refunds, in micros.
func (r *Row) Spent() (micros int64) {
	for _, by := range r.Spend.GetByDc() {
		micros += by.GetChargedMicros() - by.GetRefundedMicros()
	}
	return micros
}

// ErrLimit means that there are more rows than AccountQuery.Limit.
var ErrLimit = errors.New("the account has more rows than the limit")

// ErrNoRows means that no dataset of the shard can be read now. Ask the cache of another
// datacentre, or again after a second.
var ErrNoRows = errors.New("no dataset of the shard can be read now")

// Account calls fn for each row of an account, ordered by campaign, day and currency, and returns
// the choice that the rows are of. An account without spend has no rows. An error of fn ends the
// call and is returned. Account returns ErrNoRows if no dataset of the shard can be read, ErrLimit,
// or the error of ctx.
func (c *Cache) Account(ctx context.Context, q AccountQuery, fn func(Row) error) (*Choice, error) {
	n := c.Shard(q.Account)
	choice := c.shards[n].choice.Load()
	if choice == nil {
		return nil, fmt.Errorf("%w: the cache has just started", ErrNoRows)
	}
	snap, err := c.follower.Snapshot()
	if err != nil {
		return nil, gapError(err)
	}
	defer func() { _ = snap.Close() }() // a snapshot of an open database has no error
	r := &reader{ctx: ctx, snap: snap, shard: n, q: q}
	if choice.Mode == selection.Normal {
		err = r.chosen(c.dataset(choice.DC), choice, fn)
	} else {
		err = r.merged(c.datasets, choice, fn)
	}
	if err != nil {
		return nil, gapError(err)
	}
	return choice, nil
}

// dataset returns the dataset of a datacentre.
func (c *Cache) dataset(dc string) *dataset {
	for i := range c.datasets {
		if c.datasets[i].dc == dc {
			return &c.datasets[i]
		}
	}
	return nil
}
