package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// put writes a batch, in as many attempts as needed.
func (im *importer) put(ctx context.Context, b batch) error {
	var r retries
	for len(b.items) > 0 {
		if err := im.limiter.Wait(ctx, len(b.items)); err != nil {
			return err
		}
		left, err := im.try(ctx, &b)
		if len(left) < len(b.items) {
			r = retries{}
		}
		b.items = left
		if err = im.pauseAfter(ctx, err, &r); err != nil {
			return fmt.Errorf("lines %d to %d: %w", b.first+1, b.next, err)
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

// try writes the items of a batch once. It returns those that were not written, with the error of
// one of them.
func (im *importer) try(ctx context.Context, b *batch) (left []table.Item, err error) {
	items := b.items
	there := map[lease.PrimaryKey]table.Item{}
	var list []table.Inserted
	err = im.a.viaHome(ctx, func(ctx context.Context) error {
		known, err := im.a.findInOtherRegions(ctx, items)
		for key, found := range known {
			if err := im.exists(b, found, im.itemOf(items, key)); err != nil {
				return err
			}
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
			im.settle(b, items[i], false)
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
		if err := im.exists(b, found[key], item); err != nil {
			return left, err
		}
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

// exists counts an item of a batch whose row exists, as found. A resource of another pool is a
// rejected line.
func (im *importer) exists(b *batch, found, item table.Item) error {
	name, pool := table.Text(item, table.SK), table.Text(found, table.PoolID)
	row, err := table.Row(found)
	im.settle(b, item, pool != im.from.Pool)
	switch {
	case pool != im.from.Pool:
		return im.reject(
			RejectedLine{Line: b.lines[name], Text: name, Err: fmt.Errorf("%w: resource %q is in pool %q", ErrExists, name, pool)})
	case err == nil && row.Version > 0 && row.Holder == "" && row.Available == 0:
		im.count(func(s *ImportProgress) { s.Lines++; s.Retired++ })
	case table.Text(found, table.Owner) != table.Text(item, table.Owner):
		im.count(func(s *ImportProgress) { s.Lines++; s.OtherPlace++ })
	default:
		im.count(func(s *ImportProgress) { s.Lines++; s.Existing++ })
	}
	return nil
}

// settle keeps whether the resource of an item is in another pool.
func (im *importer) settle(b *batch, item table.Item, rejected bool) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if line := b.lines[table.Text(item, table.SK)]; rejected {
		im.rejected[line] = true
	} else {
		delete(im.rejected, line)
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
