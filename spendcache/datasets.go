package spendcache

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weirhq/weir/spendcache/selection"
)

// Dataset is one dataset of a shard.
type Dataset struct {
	selection.Assessment
	Chosen bool
}

// ShardDatasets are the datasets of a shard, and which one is used.
type ShardDatasets struct {
	Choice *Choice
	// Datasets are in order of preference: the own one, then as they follow it in the ring.
	Datasets []Dataset
	// PacingDC is the datacentre whose packs are served; empty: Config.Pacing is not set.
	PacingDC string
	// PacingOverride means that an operator has decided on PacingDC.
	PacingOverride bool
}

// Datasets returns the datasets of all shards, in order. It returns fewer while the cache has not
// evaluated them yet.
func (c *Cache) Datasets() (list []ShardDatasets) {
	for n := range c.shards {
		if choice := c.shards[n].choice.Load(); choice != nil {
			list = append(list, c.shardDatasets(choice))
		}
	}
	return list
}

func (c *Cache) shardDatasets(choice *Choice) ShardDatasets {
	s := ShardDatasets{Choice: choice}
	for _, a := range choice.datasets {
		s.Datasets = append(s.Datasets, Dataset{Assessment: a, Chosen: choice.Mode == selection.Normal && a.DC == choice.DC})
	}
	serving := &c.others.serving[choice.Shard]
	s.PacingOverride = serving.overridden.Load()
	if by := serving.by.Load(); by != nil {
		s.PacingDC = by.dc
	} else if c.cfg.Pacing {
		s.PacingDC = c.cfg.DC
	}
	return s
}

// DatasetRows are the rows that a dataset has of an account.
type DatasetRows struct {
	// Rows are ordered by campaign, day and currency.
	Rows []Row
	// Err is why the dataset cannot be read now. Nil: Rows are complete.
	Err error
}

// Rows returns what each dataset of the shard of an account has of the account, to compare them:
// answers are those of Account. The rows of all datasets are of one snapshot; they are in the order
// of ShardDatasets.Datasets. AccountQuery.Limit bounds the rows of each dataset. The errors are
// those of Account: ErrNoRows if no dataset can be read.
func (c *Cache) Rows(ctx context.Context, q AccountQuery) (s ShardDatasets, list []DatasetRows, err error) {
	n := c.Shard(q.Account)
	choice := c.shards[n].choice.Load()
	if choice == nil {
		return s, nil, fmt.Errorf("%w: the cache has just started", ErrNoRows)
	}
	snap, err := c.follower.Snapshot()
	if err != nil {
		return s, nil, gapError(err)
	}
	defer func() { _ = snap.Close() }() // a snapshot of an open database has no error
	r := &reader{ctx: ctx, snap: snap, shard: n, q: q}
	s = c.shardDatasets(choice)
	var gaps []error
	for _, d := range s.Datasets {
		i := slices.IndexFunc(c.datasets, func(has dataset) bool { return has.dc == d.DC })
		rows := DatasetRows{}
		rows.Rows, rows.Err = r.dataset(&c.datasets[i], choice.incarnations[i])
		switch {
		case ctx.Err() != nil:
			return s, nil, ctx.Err()
		case errors.Is(rows.Err, ErrLimit):
			return s, nil, rows.Err
		case rows.Err != nil: // the others may be readable
			rows.Rows = nil
			gaps = append(gaps, rows.Err)
		}
		list = append(list, rows)
	}
	if len(gaps) == len(list) {
		return s, nil, gapError(errors.Join(gaps...))
	}
	return s, list, nil
}

// dataset returns the rows of a dataset. incarnation is that of its state at the choice, which is
// up to a second old: of that and the one in the snapshot the greater one counts, so that no row is
// of a state that was deleted in between.
func (r *reader) dataset(d *dataset, incarnation uint64) (rows []Row, err error) {
	health, err := readHealth(r.snap, d, r.shard)
	if err != nil {
		return nil, err
	}
	err = r.scan(d, max(incarnation, health.GetIncarnation()), func(row Row) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
}
