package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// put writes a batch, in as many attempts as needed.
func (im *importer) put(ctx context.Context, b batch) error {
	for tries := 0; len(b.items) > 0; tries++ {
		if err := im.limiter.Wait(ctx, len(b.items)); err != nil {
			return err
		}
		left, err := im.try(ctx, b.items)
		if err != nil && (tries >= batchTries || !errors.Is(err, table.ErrThrottled) && !errors.Is(err, table.ErrUnavailable)) {
			return fmt.Errorf("lines %d to %d: %w", b.first+1, b.next, err)
		}
		if len(left) < len(b.items) {
			tries = 0
		}
		b.items = left
		if err != nil {
			if !pause.For(ctx, rand.N(50*time.Millisecond<<min(tries, 7))) {
				return ctx.Err()
			}
		}
	}
	im.mu.Lock()
	defer im.mu.Unlock()
	im.ended[b.first] = b.next
	for next, ok := im.ended[im.upTo]; ok; next, ok = im.ended[im.upTo] {
		delete(im.ended, im.upTo)
		im.upTo = next
	}
	return nil
}

// try writes items once. It returns those that were not written, with the error of one of them.
func (im *importer) try(ctx context.Context, items []table.Item) (left []table.Item, err error) {
	there := map[lease.PrimaryKey]table.Item{}
	var list []table.Inserted
	err = im.a.viaHome(ctx, func(ctx context.Context) error {
		known, err := im.a.findInOtherRegions(ctx, items)
		for key, found := range known {
			im.count(func(s *ImportProgress) { s.Lines++; *im.outcome(s, found, im.itemOf(items, key))++ })
		}
		if len(known) > 0 {
			items = slices.DeleteFunc(slices.Clone(items), func(item table.Item) bool { return known[primary(item)] != nil })
		}
		if err == nil && len(items) > 0 {
			list, err = im.a.table.Insert(ctx, im.a.home(), items)
		}
		return err
	})
	if err != nil {
		if errors.Is(err, table.ErrThrottled) {
			im.throttled(len(items))
		}
		return items, err
	}
	var created int64
	for i, one := range list {
		switch {
		case one.Existed:
			there[primary(items[i])] = items[i]
		case one.Err == nil:
			created++
		default:
			if left, err = append(left, items[i]), one.Err; errors.Is(err, table.ErrThrottled) {
				im.throttled(1)
			}
		}
	}
	im.count(func(s *ImportProgress) { s.Lines += created; s.Created += created })
	if len(there) == 0 {
		return left, err
	}
	found, readErr := im.a.table.GetAll(ctx, im.a.home(), slices.Collect(maps.Keys(there)))
	for key, item := range there {
		if readErr != nil {
			left, err = append(left, item), readErr // repeated, which does no harm
			continue
		}
		im.count(func(s *ImportProgress) { s.Lines++; *im.outcome(s, found[key], item)++ })
	}
	return left, err
}

// itemOf returns the item with a key.
func (im *importer) itemOf(items []table.Item, key lease.PrimaryKey) table.Item {
	return items[slices.IndexFunc(items, func(item table.Item) bool { return primary(item) == key })]
}

func primary(item table.Item) lease.PrimaryKey {
	return lease.PrimaryKey{Partition: table.Text(item, table.PK), Sort: table.Text(item, table.SK)}
}

// outcome returns the count of ImportProgress for an existing row.
func (im *importer) outcome(s *ImportProgress, found, item table.Item) *int64 {
	text := func(name string) bool { return table.Text(found, name) == table.Text(item, name) }
	row, err := table.Row(found)
	switch {
	case err == nil && row.Version > 0 && row.Holder == "" && row.Available == 0:
		return &s.Retired
	case !text(table.PoolID) || !text(table.Owner):
		return &s.OtherPlace
	default:
		return &s.Existing
	}
}

func (im *importer) throttled(n int) {
	im.limiter.Throttled(n)
	im.count(func(s *ImportProgress) { s.Throttled += int64(n) })
}

func (im *importer) count(change func(*ImportProgress)) {
	im.mu.Lock()
	defer im.mu.Unlock()
	change(&im.sum)
}

// reportLoop reports the progress to the caller and stores it in the table, until done.
func (im *importer) reportLoop(ctx context.Context, done <-chan struct{}) error {
	shown, kept := time.NewTicker(200*time.Millisecond), time.NewTicker(checkpoint)
	defer shown.Stop()
	defer kept.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			im.progress()
			return nil
		case <-shown.C:
			im.progress()
		case <-kept.C:
			if err := im.saveProgress(ctx); err != nil {
				return err
			}
		}
	}
}

func (im *importer) progress() {
	if im.from.Progress != nil {
		im.mu.Lock()
		s := im.sum
		im.mu.Unlock()
		s.Rate = im.limiter.Rate()
		im.from.Progress(s)
	}
}

// saveProgress stores the progress. If two processes import one file, both store correct progress.
func (im *importer) saveProgress(ctx context.Context) error {
	im.mu.Lock()
	upTo := im.upTo
	im.mu.Unlock()
	if im.from.ID == "" || upTo == im.begun {
		return nil
	}
	item := table.PrimaryKey(lease.ImportRow(im.from.Client, im.from.ID))
	item[table.ImportLines], item[table.UpdatedMs] = table.N(upTo), table.N(time.Now().UnixMilli())
	_, _, err := im.a.table.Put(ctx, im.a.home(), item, table.AnyVersion())
	return err
}

// imported returns the number of lines that earlier runs have imported.
func (a *Admin) imported(ctx context.Context, client, id string) (int64, error) {
	if id == "" {
		return 0, nil
	}
	item, err := a.table.Get(ctx, a.home(), lease.ImportRow(client, id))
	if err != nil || item == nil {
		return 0, err
	}
	n, err := table.Number(item, table.ImportLines)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", table.ErrTable, err)
	}
	return n, nil
}
